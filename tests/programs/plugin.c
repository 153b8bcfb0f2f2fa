/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin.c: what plugged.c loads. */
int asked_for(int i);
int act(int i);

int act(int i)
{
	return asked_for(i);
}
