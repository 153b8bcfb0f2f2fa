create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 250)
insert into t select i, printf('%05x-%s', (i * 7919) % 65536, hex(i)), i / 3.0 from n;
create index tb on t(b);
create table u as select a % 17 as k, sum(c) as s, group_concat(b) as g from t group by k;
select 'top', b, c from t order by c desc limit 5;
select count(*) from t join u on u.k = t.a % 17 where t.b like '00%';
begin;
update t set c = c * 2 where a % 3 = 0;
delete from t where a between 100 and 200;
rollback;
select a, rank() over (partition by a % 5 order by c) r from t order by r, a limit 20;
delete from t where a > 230;
select count(*) from (select distinct substr(b, 1, 3) from t);
select 'total', count(*), round(sum(c), 3), max(b) from t;
