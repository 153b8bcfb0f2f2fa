// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_elf_landings.c: landing pads are those that the compiler wrote. The truth is its assembler
 * output, where a call-site record is the difference of labels; the labels are kept as symbols, and
 * nm tells where they came to lie. */
#include "tests/unit/elf/elf_helper.h"

/* C++ with cleanups, several handlers, an exception specification, a cold part, a noexcept. */
static const char source[] =
	"struct guard { int &n; guard(int &n) : n(n) { n++; } ~guard(); };\n"
	"guard::~guard() { n--; }\n"
	"int may_throw(int); [[gnu::cold]] void rare(int);\n"
	"int plain(int n) { guard g(n); may_throw(n); return n; }\n"
	"int handlers(int n) {\n"
	"	try { guard g(n); may_throw(1); try { may_throw(2); } catch (int i) { n += i; } }\n"
	"	catch (long) { may_throw(3); } catch (...) { rare(n); throw; }\n"
	"	return n;\n"
	"}\n"
	"int unthrown(int n) noexcept { return may_throw(n) + may_throw(n + 1); }\n"
	"int cold(int n) {\n"
	"	guard g(n);\n"
	"	if (__builtin_expect(n == 7, 0)) { guard h(n); rare(n); rare(n + 1); }\n"
	"	return may_throw(n);\n"
	"}\n"
	"int may_throw(int n) { if (n > 100) throw n; if (n > 90) throw 5l; return n; }\n"
	"void rare(int n) { may_throw(n * 2); }\n";

struct label {
	char name[32];
	uint64_t addr;
};

struct labels {
	struct label all[4096];
	uint32_t n;
};

static struct labels read_labels(const char *path)
{
	static struct labels labels;
	labels.n = 0;
	FILE *out = command("nm '%s'", path);
	char line[512];
	while (fgets(line, sizeof(line), out)) {
		struct label label;
		if (sscanf(line, "%lx %*c KEEP_%31s", &label.addr, label.name) == 2) {
			assert_true(labels.n < 4096);
			labels.all[labels.n++] = label;
		}
	}
	command_end(out);
	return labels;
}

static uint64_t label_addr(const struct labels *labels, const char *name)
{
	for (uint32_t i = 0; i < labels->n; i++)
		if (!strcmp(labels->all[i].name, name))
			return labels->all[i].addr;
	fail_msg("no label %s", name);
	return 0;
}

/* A line "\t.uleb128 KEEP_a-KEEP_b", or with 0 in place of the difference. */
static bool read_difference(FILE *file, uint64_t *value, uint64_t *base,
			    const struct labels *labels)
{
	char line[512], a[32], b[32];
	*value = *base = 0;
	if (!fgets(line, sizeof(line), file))
		return false;
	if (sscanf(line, " .uleb128 KEEP_%31[A-Z0-9]-KEEP_%31[A-Z0-9]", a, b) == 2) {
		*base = label_addr(labels, b);
		*value = label_addr(labels, a);
		return true;
	}
	return sscanf(line, " .uleb128 %lx", value) == 1 && !*value;
}

/* The landing pads by the assembler file @path. */
static uint32_t expected_landings(const char *path, const struct labels *labels,
				  struct elf_landing *out, uint32_t max)
{
	FILE *file = fopen(path, "r");
	char line[512];
	uint32_t n = 0;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "KEEP_LLSDACSB", 13))
			continue;
		uint64_t start, end, pad, base;
		while (read_difference(file, &start, &base, labels) && start) {
			assert_true(read_difference(file, &end, &base, labels));
			assert_true(read_difference(file, &pad, &base, labels));
			assert_non_null(fgets(line, sizeof(line), file)); /* action */
			if (!pad)
				continue;
			assert_true(n < max);
			out[n++] = (struct elf_landing){start, end, pad};
		}
	}
	fclose(file);
	return n;
}

static void compare_with_assembler(const char *dir, const char *options)
{
	static struct elf_landing want[4096];
	char path[512], listing[512];
	write_source(dir, "pads.cc", "%s", source);
	snprintf(path, sizeof(path), "%s/pads.so", dir);
	snprintf(listing, sizeof(listing), "%s/kept.s", dir);
	shell("c++ %s -fPIC -S -o '%s/pads.s' '%s/pads.cc'", options, dir, dir);
	shell("sed 's/\\.L/KEEP_L/g' '%s/pads.s' >'%s'", dir, listing);
	shell("c++ -shared -o '%s' '%s'", path, listing);
	struct labels labels = read_labels(path);
	uint32_t n_want = expected_landings(listing, &labels, want, 4096), n;
	struct elf_image *image = open_image(path);
	const struct elf_landing *got = elf_image_landings(image, &n);
	assert_true(n_want > 5);
	assert_int_equal(n, n_want);
	for (uint32_t i = 0; i < n_want; i++) {
		uint32_t k = 0;
		while (k < n && (got[k].addr != want[i].addr || got[k].end != want[i].end ||
				 got[k].pad != want[i].pad))
			k++;
		if (k == n)
			fail_msg("%s: calls %#lx..%#lx with pad %#lx are missing", options,
				 want[i].addr, want[i].end, want[i].pad);
	}
	assert_null(elf_image_note(image, 0));
	check_image(image);
	elf_image_free(image);
}

static void pads_of_optimised_code(void **state)
{
	compare_with_assembler(*state, "-O2");
}

static void pads_of_plain_code(void **state)
{
	compare_with_assembler(*state, "-O0");
}

static void pads_of_code_in_parts(void **state)
{
	compare_with_assembler(*state, "-O2 -freorder-blocks-and-partition -fno-inline");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pads_of_optimised_code),
		cmocka_unit_test(pads_of_plain_code),
		cmocka_unit_test(pads_of_code_in_parts),
	};
	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
