# SPDX-License-Identifier: LGPL-2.1-or-later
# git: a repository from nothing, history, diff, merge, packing
BINARY=/usr/bin/git
prepare() {
	export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_AUTHOR_DATE='2020-01-01T00:00:00Z'
	export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	export GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
	printf '[gc]\n auto = 0\n[maintenance]\n auto = false\n' >.gitconfig
	mkdir repo
}
run() {
	cd repo || return
	traced init -q -b main .
	for i in 1 2 3 4 5; do
		make_text $((i * 100)) >"file$i"
		traced add "file$i"
		traced commit -q -m "add file $i"
	done
	traced checkout -q -b side HEAD~2
	echo more >>file1
	traced commit -q -a -m side
	traced checkout -q main
	traced merge -q -m merge side
	traced log --stat -p >../log
	traced diff HEAD~3 >../diff
	traced blame file1 >/dev/null
	traced rev-list --all | traced pack-objects -q --stdout >../pack
	traced status --porcelain
	traced checkout -q -b topic HEAD~1
	sed -i 5d file2
	traced commit -q -a -m topic
	traced rebase -q main
	traced cherry-pick -n side~1 2>/dev/null || traced reset -q --hard
	echo stash >>file3
	traced stash -q
	traced stash pop -q
	traced reset -q --hard
	traced rm -q file4
	traced mv file5 moved
	traced commit -q -m moved
	traced diff --stat -M --color-words HEAD~1 >/dev/null
	traced grep -n -E 'al(pha|so)' -- 'file*' >/dev/null
	traced shortlog -sne HEAD
	traced archive --format=tar HEAD >../tar
	traced format-patch -q -o .. HEAD~2
	traced tag -a -m tag v1
	traced describe --always --long >/dev/null
	traced log --graph --oneline --all --format='%h %an %ad %s %d' >/dev/null
	traced cat-file -p HEAD >/dev/null
	traced ls-files -s >/dev/null
	traced for-each-ref --sort=-refname --format='%(refname:short) %(objectname)' >/dev/null
	traced config --list >/dev/null
	traced index-pack --stdin <../pack >/dev/null
	traced clean -n -d >/dev/null
	traced reflog >/dev/null
	traced worktree list >/dev/null
	traced fsck --no-progress
	grep -q '^Merge:' ../log
}
