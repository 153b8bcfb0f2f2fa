# SPDX-License-Identifier: LGPL-2.1-or-later
# postgres' own binary, one backend: tables, indexes, joins, aggregates, errors, vacuum
BINARY=/usr/lib/postgresql/15/bin/postgres
SECONDS_MAX=300
prepare() {
	as_user=
	if [ "$(id -u)" = 0 ]; then
		as_user="setpriv --reuid=nobody --regid=nogroup --clear-groups"
		chown nobody .
	fi
	$as_user /usr/lib/postgresql/15/bin/initdb -D "$PWD/data" -U test -N --no-locale -E UTF8 \
		>initdb.log
	cat >work.sql <<'SQL'
create table a (id int primary key, v text, n numeric(10,2));
insert into a select i, md5(i::text), i / 7.0 from generate_series(1, 2000) i;
create table b as select id, id % 13 as k from a;
create index on b (k);
analyze;
select k, count(*), sum(n), max(v) from a join b using (id) group by k order by 2 desc, 1;
select * from a where v like '%abc%' and id between 10 and 1900;
with recursive f(i, x, y) as (select 1, 0::numeric, 1::numeric union all select i + 1, y, x + y from f where i < 90) select max(x) from f;
update a set n = n * 2 where id % 3 = 0;
delete from b where k = 5;
select 1 / 0;
select nosuch from a;
create function f(x int) returns int language plpgsql as $$ begin if x < 2 then return 1; end if; return x * f(x - 1); end $$;
select f(10);
select jsonb_build_object('k', array_agg(k), 't', 'x' ~ '^[a-z]+$') from (select distinct k from b) s;
select id, rank() over (partition by id % 3 order by n desc) from a limit 20;
vacuum;
SQL
}
run() {
	# PostgreSQL refuses to run as root.
	TRACE=($as_user "${TRACE[@]}")
	traced --single -D "$PWD/data" -c fsync=off -c shared_buffers=16MB postgres <work.sql \
		>out 2>log || true
	tr '\n' ' ' <log | grep -q 'division by zero' && grep -q 3628800 out
}
