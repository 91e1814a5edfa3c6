/*
 * A tree of processes that grows and shrinks.  Each node of depth > 0 starts
 * two children, waits for their sums and sends its own to its parent; the
 * leaves count one each.  Processes are created by `run` and their numbers are
 * used again; a process that has ended is removed when it is the youngest.
 *
 * expect: verified
 * states: 6449
 * transitions: 20198
 * depth: 38
 * exit: 0
 */

#ifndef DEPTH
#define DEPTH 2
#endif

proctype node(byte depth; chan parent)
{
	chan sums = [2] of { byte };
	byte left, right;

	if
	:: depth == 0 -> parent!1
	:: else ->
		run node(depth - 1, sums);
		run node(depth - 1, sums);
		sums?left;
		sums?right;
		parent!left + right
	fi
}

init {
	chan total = [1] of { byte };
	byte sum;

	run node(DEPTH, total);
	total?sum;
	assert(sum == 1 << DEPTH);
	_nr_pr == 1;               /* all the others are gone */
}
