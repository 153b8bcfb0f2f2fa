/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugged.c MICROSECONDS PLUGIN: exports asked_for(), waits, and loads a plugin (plugin.c) whose
 * act() calls it a hundred times. Status 1 if the plugin's sum is wrong; where there is no plugin,
 * 0. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noipa)) static int step(int i)
{
	return i + 1;
}

__attribute__((noipa)) int asked_for(int i)
{
	return step(i) - 1;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? asked_for(0) : 0;
	usleep(atoi(argv[1]));
	void *plugin = dlopen(argv[2], RTLD_NOW);
	int (*act)(int) = plugin ? (int (*)(int))dlsym(plugin, "act") : NULL;
	for (int i = 0; act && i < 100; i++)
		n += act(i);
	return act && n != 4950;
}
