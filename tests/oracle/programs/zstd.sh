# zstd in one thread, several levels
BINARY=/usr/bin/zstd
prepare() { make_text 20000 >text; }
run() {
	for level in 1 3 9 19; do
		traced -q --single-thread -$level -c text >text.zst
		traced -q --single-thread -dc text.zst | cmp - text
	done
}
