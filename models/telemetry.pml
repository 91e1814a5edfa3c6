/*
 * Sensors report to a recorder through a queue that drops what does not fit:
 * `--lossy`, SPIN's `-m`.  Sending never waits.  Reports are numbered; the
 * recorder may miss some, but of one sensor it never gets two in the wrong
 * order, nor the same one twice.
 *
 * expect: verified
 * states: 43309
 * transitions: 109686
 * depth: 40
 * exit: 0
 * flags: --lossy
 */

#define SENSORS 2
#define REPORTS 4

chan queue = [2] of { byte, byte };       /* sensor, number */

active [SENSORS] proctype sensor()
{
	byte number;

	do
	:: number < REPORTS ->
		number++;
		queue!_pid, number
	:: else -> break
	od
}

active proctype recorder()
{
	byte last[SENSORS];
	byte from, number;

end:	do
	:: queue?from, number ->
		assert(number > last[from]);
		last[from] = number
	od
}
