/*
 * A routing table that is one entry too short.  Packets carry a destination
 * that is chosen freely; for the last one the router reads behind the end of
 * its table, an error that SPIN reports as an invalid array index.
 *
 * expect: violated
 * exit: 1
 * violation: index depth 10
 */

#define HOSTS 4

chan wire = [2] of { byte };
byte port[HOSTS - 1];              /* should be port[HOSTS] */

active proctype host()
{
	byte to;

	do
	:: select(to : 0 .. HOSTS - 1);
		wire!to
	od
}

active proctype router()
{
	byte to;
	byte through;

	do
	:: wire?to ->
		through = port[to]
	od
}
