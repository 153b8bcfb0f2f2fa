// SPDX-License-Identifier: LGPL-2.1-or-later
/* casper_figure2.c: the running example of "Casper: An Efficient Approach to Call Trace Collection"
 * (POPL 2016), Figure 2. Compiled without optimisation its call sites c1 to c8 and returns r1 to r7
 * are the figure's, in the order of their addresses; c0 and r0 are start's. */
extern volatile int p1, p2, p3, p4;
volatile int p1, p2, p3, p4;

static void A(void)
{
	/* r2 */
}

static void C(void)
{
	/* r4 */
}

static void D(void)
{
	/* r5 */
}

static void H(void)
{
	/* r7 */
}

static void B(void)
{
	if (p3)
		C(); /* c5 */
	else
		D(); /* c6 */
		     /* r3 */
}

static void E(void)
{
	if (p4)
		C(); /* c7 */
	else
		D(); /* c8 */
		     /* r6 */
}

int main(void)
{
	A(); /* c1 */
	do {
		if (p1)
			B(); /* c2 */
		else
			E(); /* c3 */
	} while (p2);
	H();	  /* c4 */
	return 0; /* r1 */
}

/* The entry of the file: what the paper takes as known is that main runs. */
void start(void)
{
	main();
}
