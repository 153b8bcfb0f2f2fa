# perl: hashes, regular expressions, closures, sorting
BINARY=/usr/bin/perl
prepare() {
	make_text 2000 >text
	cat >work.pl <<'PL'
use strict; use warnings;
my (%n, $hits); open my $f, '<', 'text' or die;
while (<$f>) { $n{$_}++ for split; $hits++ while /\b(\w)(\w*)\1\b/g; tr/a-z/A-Z/; }
my @w = sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
my @c = map { my $k = $_; sub { $k + shift } } 1 .. 50;
my $s = 0; $s += $_->(2) for @c;
for (1 .. 100) { eval { die { code => $_ } if $_ % 2; 1 } or $s += $@->{code}; }
sub fact { my $n = shift; $n < 2 ? 1 : $n * fact($n - 1) }
my $p = sprintf "%s %d %s %.3f", join(',', @w[0 .. 3]), $s, fact(15), atan2(1, 1) * 4;
local $_ = "x=1;y=22;z=333"; my %h = /(\w)=(\d+)/g; die unless $h{z} == 333;
print "done $p ", scalar reverse("abc"), " ", unpack("H*", pack("w", 300)), "\n";
PL
}
run() { PERL_HASH_SEED=0 traced work.pl >out && grep -q '^done' out; }
