#include "offline/builder.h"
int height_solve(struct builder *b)
{
	(void)b;
	return 0;
}
