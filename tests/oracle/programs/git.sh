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
	traced fsck --no-progress
	grep -q '^Merge:' ../log
}
