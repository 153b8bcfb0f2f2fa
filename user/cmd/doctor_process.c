// SPDX-License-Identifier: LGPL-2.1-or-later
/* doctor_process.c: see doctor_process.h. */
#include "user/cmd/doctor_process.h"

#include "user/cli/command.h"
#include "user/patch/possible.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is seen only once its threads are stopped. */
static const char later[] =
	"whether it may map code (SELinux), has room near its code, and has glibc's thread "
	"control\n"
	"block in every thread is seen when it is attached to; what is refused then is said, and\n"
	"comes by probes\n";

bool doctor_is_process(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && access(text, F_OK);
}

static void print_text(int pid, const char *const *against, bool possible)
{
	printf("process %d: --carrier %s\n", pid,
	       possible ? "patch is possible, and so is probe" : "probe alone is possible");
	for (uint32_t i = 0; i < n_patch_conditions; i++)
		if (against[i])
			printf("against  %-15s %s\n", patch_conditions[i].name, against[i]);
		else
			printf("ok       %s\n", patch_conditions[i].name);
	if (possible)
		fputs(later, stdout);
}

static void print_json(int pid, const char *const *against, bool possible)
{
	json_t *root = json_object(), *conditions = json_array();

	for (uint32_t i = 0; i < n_patch_conditions; i++)
		json_array_append_new(conditions,
				      json_pack("{s:s,s:s?}", "name", patch_conditions[i].name,
						"against", against[i]));
	json_object_set_new(root, "pid", json_integer(pid));
	json_object_set_new(root, "carrier", json_string(possible ? "patch" : "probe"));
	json_object_set_new(root, "conditions", conditions);
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(root);
}

int doctor_process(const char *text, bool json)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	int pid = !*end && number && number <= INT_MAX ? (int)number : 0;
	bool possible = true;

	if (!pid || (kill(pid, 0) && errno == ESRCH)) {
		command_say(stderr, "pugmark: doctor: there is no process ", text, "\n");
		return EXIT_ERROR;
	}
	const char **against = calloc(n_patch_conditions, sizeof(*against));
	if (!against)
		return EXIT_ERROR;
	for (uint32_t i = 0; i < n_patch_conditions; i++) {
		against[i] = patch_conditions[i].against(pid);
		possible = possible && !against[i];
	}
	if (json)
		print_json(pid, against, possible);
	else
		print_text(pid, against, possible);
	free(against);
	return EXIT_OK;
}
