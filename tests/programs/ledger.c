// SPDX-License-Identifier: LGPL-2.1-or-later
/* ledger.c: reads lines "FROM TO AMOUNT", keeps and books each, and prints every account and their
 * sum, which should be 0. It has the bug that docs/values.md finds ("A bug found from start to
 * end"), and tests/e2e/values_story.sh too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct account {
	char name[16];
	long balance;
};

static struct account *accounts;
static int n_accounts, room;

enum { LINES = 1000 };
static char *lines[LINES]; /* as they were read */
static int n_lines;

static struct account *account(const char *name)
{
	for (int i = 0; i < n_accounts; i++)
		if (!strcmp(accounts[i].name, name))
			return &accounts[i];
	if (n_accounts == room) {
		room += 4;
		accounts = realloc(accounts, room * sizeof(*accounts));
	}
	struct account *a = &accounts[n_accounts++];
	snprintf(a->name, sizeof(a->name), "%s", name);
	a->balance = 0;
	return a;
}

static void transfer(const char *from, const char *to, long amount)
{
	struct account *giver = account(from);
	struct account *taker = account(to);

	giver->balance -= amount;
	taker->balance += amount;
}

int main(void)
{
	char line[80], from[16], to[16];
	long amount, sum = 0;

	while (n_lines < LINES && fgets(line, sizeof(line), stdin) &&
	       sscanf(line, "%15s %15s %ld", from, to, &amount) == 3) {
		transfer(from, to, amount);
		lines[n_lines++] = strdup(line);
	}
	for (int i = 0; i < n_accounts; i++) {
		printf("%s %ld\n", accounts[i].name, accounts[i].balance);
		sum += accounts[i].balance;
	}
	printf("sum %ld\n", sum);
	free(accounts);
	return sum != 0;
}
