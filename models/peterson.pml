/*
 * Peterson's mutual exclusion for two processes: I raise my flag, let the
 * other go first, and wait while it wants to and it is its turn.  Every read
 * and every write of a shared variable is a statement, and so a step.
 *
 * The process `monitor` may look at any moment: an invariant, as Promela
 * users write it.
 *
 * expect: verified
 * states: 114
 * transitions: 268
 * depth: 11
 * exit: 0
 */

bool wants[2];
bit turn;
byte n_inside;

active [2] proctype process()
{
	bit me = _pid;
	bit other = 1 - me;

	do
	:: wants[me] = true;
		turn = other;
		do
		:: !wants[other] -> break
		:: turn == me -> break
		od;
		n_inside++;
critical:	skip;
		n_inside--;
		wants[me] = false
	od
}

active proctype monitor()
{
	assert(n_inside <= 1)
}
