// SPDX-License-Identifier: LGPL-2.1-or-later
/* debuginfod.c: see debuginfod.h. The question is a descriptor of the file, the answer a number:
 * the child reads the file, asks for its build-id, and puts the debug file into the folder. */
#include "user/file/debuginfod.h"

#include "offline/base/debug_roots.h"
#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "user/cli/command.h"
#include "user/sandbox/confine.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534, ID_BYTES_MAX = 64, LIBRARY_MISSING = -ELIBACC };

/* What the child answers. */
enum answer { READY, FOUND, HAS_ITS_OWN, HAS_NO_ID, NOT_FOUND };

static int asker = -1; /* our end of the socket */
static char folder[PATH_MAX - 256];

bool debuginfod_is_on(void)
{
	return asker >= 0;
}

/* Whom the child becomes where this process is root. */
struct lesser {
	bool needed;
	uid_t uid;
	gid_t gid;
	const char *home; /* "": he has none that anything is kept in */
};

static struct lesser find_lesser(void)
{
	const char *caller = getenv("SUDO_UID");
	char *end;
	unsigned long uid = caller ? strtoul(caller, &end, 10) : 0;
	struct passwd *who = uid && !*end ? getpwuid((uid_t)uid) : NULL;
	if (geteuid())
		return (struct lesser){.home = ""};
	if (!who)
		return (struct lesser){true, NOBODY, NOBODY, ""};
	return (struct lesser){true, who->pw_uid, who->pw_gid, who->pw_dir};
}

static bool become(const struct lesser *who)
{
	return (who->needed ? confine_become(who->uid, who->gid) : confine_drop()) &&
	       confine_refuse(CONFINE_NETWORK);
}

/* ---- messages ---- */

static bool send_answer(int to, int answer)
{
	return send(to, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer);
}

static bool send_file(int to, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec bytes = {&byte, 1};
	struct msghdr h = {.msg_iov = &bytes,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(to, &h, MSG_NOSIGNAL) == 1;
}

/* -1: there is no more to come. */
static int receive_file(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec bytes = {&byte, 1};
	struct msghdr h = {.msg_iov = &bytes,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int fd = -1;
	if (recvmsg(from, &h, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* ---- the child ---- */

struct client {
	void *library, *session;
	void *(*begin)(void);
	int (*find)(void *session, const unsigned char *id, int len, char **path);
	void (*end)(void *session);
};

static bool open_client(struct client *c)
{
	c->library = dlopen("libdebuginfod.so.1", RTLD_NOW);
	if (!c->library)
		return false;
	*(void **)&c->begin = dlsym(c->library, "debuginfod_begin");
	*(void **)&c->find = dlsym(c->library, "debuginfod_find_debuginfo");
	*(void **)&c->end = dlsym(c->library, "debuginfod_end");
	c->session = c->begin && c->find && c->end ? c->begin() : NULL;
	return c->session;
}

/* Whether an ELF file has symbols and lines itself. */
static bool has_its_own(Elf *elf)
{
	bool symbols = false, lines = false;
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		const char *name;
		if (!gelf_getshdr(s, &header) || !(name = elf_strptr(elf, names, header.sh_name)))
			continue;
		symbols |= header.sh_type == SHT_SYMTAB;
		lines |= !strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line");
	}
	return symbols && lines;
}

/* Copies the file @from to a new one at @to. */
static bool copy_file(int from, const char *to)
{
	struct stat st;
	ssize_t n = 0;
	int out = fstat(from, &st) ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out < 0)
		return errno == EEXIST;
	for (off_t at = 0; at < st.st_size && n >= 0;)
		if ((n = sendfile(out, from, &at, (size_t)(st.st_size - at))) == 0)
			break;
	if (close(out) || n < 0) {
		unlink(to);
		return false;
	}
	return true;
}

static enum answer ask(const struct client *c, const uint8_t *id, int len)
{
	char path[PATH_MAX], hex[2 * ID_BYTES_MAX + 1], *kept = NULL;
	for (int i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (!access(path, R_OK))
		return FOUND;
	int fd = c->find(c->session, id, len, &kept);
	free(kept);
	if (fd < 0)
		return NOT_FOUND;
	int n = snprintf(path, sizeof(path), "%s/.build-id/%.2s", folder, hex);
	mkdir(path, 0755);
	n += snprintf(path + n, sizeof(path) - (size_t)n, "/%s.debug", hex + 2);
	bool whole = (size_t)n < sizeof(path) && copy_file(fd, path);
	close(fd);
	return whole ? FOUND : NOT_FOUND;
}

static enum answer answer_for(const struct client *c, int fd)
{
	struct private_file file;
	const void *id;
	enum answer answer = HAS_NO_ID;
	if (private_file_read(fd, PRIVATE_FILE_MAX, &file))
		return HAS_NO_ID;
	Elf *elf = elf_memory((char *)file.bytes, file.len_bytes);
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	if (len >= 2 && len <= ID_BYTES_MAX)
		answer = has_its_own(elf) ? HAS_ITS_OWN : ask(c, id, (int)len);
	elf_end(elf);
	private_file_free(&file);
	return answer;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	remove(path);
	return 0;
}

static void remove_folder(void)
{
	if (*folder)
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Until whoever asks is gone. A signal from the terminal is for him. */
static _Noreturn void serve(int socket)
{
	static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct client c = {0};
	int fd;
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		signal(others[i], SIG_IGN);
	elf_version(EV_CURRENT);
	bool ready = open_client(&c);
	send_answer(socket, ready ? READY : LIBRARY_MISSING);
	while (ready && (fd = receive_file(socket)) >= 0) {
		send_answer(socket, answer_for(&c, fd));
		close(fd);
	}
	if (ready)
		c.end(c.session);
	remove_folder();
	_exit(0);
}

static _Noreturn void child(int socket, const struct lesser *who)
{
	static char cache[PATH_MAX];
	if (socket > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0u, 0);
	if (who->needed && *who->home) {
		setenv("HOME", who->home, 1);
		unsetenv("XDG_CACHE_HOME");
	} else if (who->needed) {
		snprintf(cache, sizeof(cache), "%s/cache", folder);
		setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	}
	if (!become(who)) {
		send_answer(socket, -EPERM);
		remove_folder();
		_exit(1);
	}
	serve(socket);
}

/* ---- who asks ---- */

static int failed(struct pugmark_diag *diag, int err, const char *text)
{
	return pugmark_diag_set(diag, err, "--debuginfod", PUGMARK_NO_OFFSET, "%s", text);
}

/* Of the user who is going to write there, and to be read by all: it holds what servers gave. */
static bool make_folder(const struct lesser *who)
{
	const char *temporary = getenv("TMPDIR");
	char ids[PATH_MAX];
	int n = snprintf(folder, sizeof(folder) - 64, "%s/pugmark-debug-XXXXXX",
			 temporary && *temporary ? temporary : "/tmp");
	if (n < 0 || (size_t)n >= sizeof(folder) - 64 || !mkdtemp(folder)) {
		*folder = 0;
		return false;
	}
	snprintf(ids, sizeof(ids), "%s/.build-id", folder);
	if (!mkdir(ids, 0755) && !chmod(folder, 0755) &&
	    (!who->needed ||
	     (!lchown(ids, who->uid, who->gid) && !lchown(folder, who->uid, who->gid))))
		return true;
	remove_folder();
	return false;
}

int debuginfod_begin(struct pugmark_diag *diag)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int ends[2], answer;
	struct lesser who = find_lesser();
	if (!urls || !urls[strspn(urls, " ")])
		return failed(diag, -EDESTADDRREQ,
			      "no server is named (set DEBUGINFOD_URLS, which sudo passes on with "
			      "--preserve-env=DEBUGINFOD_URLS)");
	if (!make_folder(&who))
		return failed(diag, -errno, "no folder for debug files can be made (set TMPDIR)");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		remove_folder();
		return failed(diag, -errno, strerror(errno));
	}
	fflush(NULL);
	pid_t pid = fork();
	if (!pid)
		child(ends[1], &who);
	close(ends[1]);
	if (pid < 0 || recv(ends[0], &answer, sizeof(answer), 0) != sizeof(answer))
		answer = -ECHILD;
	if (answer == READY) {
		asker = ends[0];
		debug_roots_add(folder);
		return 0;
	}
	close(ends[0]);
	if (pid < 0)
		remove_folder();
	return failed(diag, answer,
		      answer == LIBRARY_MISSING
			      ? "libdebuginfod.so.1 is not here (install libdebuginfod1, or "
				"elfutils-debuginfod-client)"
			      : "the process that asks could not be started");
}

void debuginfod_fetch(const char *path)
{
	int answer, fd = asker < 0 ? -1 : open_regular(path, NULL);
	if (fd < 0)
		return;
	bool told =
		send_file(asker, fd) && recv(asker, &answer, sizeof(answer), 0) == sizeof(answer);
	close(fd);
	if (!told) {
		close(asker);
		asker = -1;
		command_say(stderr,
			    "pugmark: note: --debuginfod: the process that asks is gone, at ", path,
			    "\n");
	} else if (answer == NOT_FOUND) {
		command_say(stderr,
			    "pugmark: note: no server of DEBUGINFOD_URLS has the debug file of ",
			    path, "\n");
	}
}
