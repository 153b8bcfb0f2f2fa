# SPDX-License-Identifier: LGPL-2.1-or-later
# perl: hashes, regular expressions, closures, sorting
BINARY=/usr/bin/perl
PLUGINS=/usr/lib/x86_64-linux-gnu/perl-base:/usr/lib/x86_64-linux-gnu/perl
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
use Data::Dumper; use JSON::PP; use List::Util qw(reduce shuffle first); use POSIX (); use Text::Wrap;
my $d = { a => [1, 2, { x => undef }], b => \"ref", c => 1.5 };
{ local $Data::Dumper::Sortkeys = 1; my $VAR1; eval Dumper($d) or die; }
my $j = JSON::PP->new->canonical->pretty; my $e = $j->encode({ %$d, b => "s" });
die unless $j->decode($e)->{a}[1] == 2;
my $m = reduce { $a > $b ? $a : $b } 3, 9, 2; die unless $m == 9;
package Animal { sub new { my ($c, %a) = @_; bless {%a}, $c } sub name { $_[0]{name} } our $AUTOLOAD;
	sub AUTOLOAD { my $n = $AUTOLOAD; $n =~ s/.*:://; return if $n eq 'DESTROY'; "auto $n" } }
package Dog { our @ISA = 'Animal'; use overload '+' => sub { "plus" }, '""' => sub { "dog" }, '<=>' => sub { 0 };
	sub name { my $s = shift; "dog " . $s->SUPER::name() } }
my $dog = Dog->new(name => "rex"); die unless $dog->name eq "dog rex" && $dog->bark eq "auto bark" && $dog + 1 eq "plus";
my $t = join "", map { chr(65 + $_ % 26) } 1 .. 500; my $cnt = 0;
$cnt++ while $t =~ /(?<l>[A-F]{2,4}?)(?=G)|(?i:x)\w+?(?!Q)/g;
(my $u = $t) =~ s/([AEIOU])/lc($1)/ge; my @f = split /(?<=e)/, $u; die unless @f > 10;
my $str = sprintf("%s|%-10s|%05d|%x|%e|%*d|%vd", "a", "b", 42, 255, 12345.678, 6, 7, "1.22.333");
open my $mem, '<', \"l1\nl2\nl3\n"; my @l = <$mem>; die unless @l == 3;
my @sorted = sort { $a->[1] <=> $b->[1] } map { [$_, length] } @w[0 .. 9]; local $, = "-";
my $fmt = wrap("", "  ", "word " x 60); my ($q, @r) = unpack("A2 n/a* N*", pack("A2 n/a* N*", "xy", "hello", 7, 8));
die unless $r[0] eq "hello" && POSIX::floor(-1.5) == -2; my @spl = splice(@l, 1, 1, "x", "y"); no strict 'refs';
*{"main::dyn"} = sub { wantarray ? "list" : "scalar" }; my ($ctx) = dyn(); die unless $ctx eq "list"; { local $@; eval { die bless({}, 'Dog') }; die unless ref $@ }
utf8::decode(my $utf = "\xc3\xa9t\xc3\xa9"); die unless length($utf) == 3 && $utf =~ /\p{L}{3}/ && uc($utf) =~ /T/;
tie my @tied, 'Tied'; package Tied { sub TIEARRAY { bless [] } sub FETCH { $_[1] * 2 } sub FETCHSIZE { 5 } } die unless $tied[4] == 8;
$, = undef; print "done $p ", scalar reverse("abc"), " ", unpack("H*", pack("w", 300)), "\n";
PL
}
run() { PERL_HASH_SEED=0 traced work.pl >out && grep -q '^done' out; }
