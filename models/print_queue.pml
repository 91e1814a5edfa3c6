/*
 * A print queue with priorities.  Jobs enter by sorted send (`!!`), so that
 * the most urgent one, of the smallest number, is at the head.  The printer
 * takes the head; whoever submitted a job may cancel it wherever it stands, by
 * random receive (`??`) with `eval`.  A job leaves the queue exactly once.
 *
 * expect: verified
 * states: 2197
 * transitions: 8802
 * depth: 9
 * exit: 0
 */

#ifndef USERS
#define USERS 3
#endif

chan queue = [USERS] of { byte, byte };   /* urgency, user */
bool waiting[USERS];

active [USERS] proctype user()
{
	byte urgency;

	do
	:: select(urgency : 1 .. 3);
		atomic { queue!!urgency, _pid; waiting[_pid] = true };
		if
		:: !waiting[_pid]                         /* printed */
		:: atomic {
			queue??eval(urgency), eval(_pid) ->   /* cancelled */
			assert(waiting[_pid]);
			waiting[_pid] = false
		   }
		fi;
		urgency = 0
	od
}

active proctype printer()
{
	byte urgency, owner, next;

end:	do
	:: atomic {
		queue?urgency, owner ->
		assert(waiting[owner]);
		waiting[owner] = false;
		if
		:: nempty(queue) ->
			queue?<next, _>;                  /* looks, does not take */
			assert(urgency <= next)
		:: empty(queue)
		fi;
		urgency = 0; owner = 0; next = 0
	   }
	od
}
