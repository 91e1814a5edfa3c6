/*
 * The alternating bit protocol over channels that lose messages.  The sender
 * repeats a message with one bit until the acknowledgement carries the same
 * bit; the receiver acknowledges everything and accepts a message only if its
 * bit is the expected one.
 *
 * A process `thief` takes messages out of both channels at any time, and the
 * sender may send again at any time, whether or not something was lost.
 * Data counts modulo ITEMS, so that a lost or doubled item would be noticed.
 *
 * expect: verified
 * states: 3345
 * transitions: 10811
 * depth: 113
 * exit: 0
 */

#ifndef ITEMS
#define ITEMS 5
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif

mtype = { msg, ack };

chan forward  = [CAPACITY] of { mtype, byte, bit };
chan backward = [CAPACITY] of { mtype, bit };

active proctype sender()
{
	byte item;
	bit mine;
	bit answer;

	do
	:: forward!msg(item, mine);
waiting:	if
		:: backward?ack(answer) ->
			if
			:: answer == mine -> d_step {
				item = (item + 1) % ITEMS;
				mine = 1 - mine
			   }
			:: else -> goto waiting
			fi
		:: nfull(forward)          /* send it again */
		fi
	od
}

active proctype receiver()
{
	byte item;
	byte wanted;
	bit got;
	bit expected;

	do
	:: forward?msg(item, got) ->
		if
		:: got == expected ->
			assert(item == wanted);
			d_step {
				wanted = (wanted + 1) % ITEMS;
				expected = 1 - expected
			}
		:: else
		fi;
		backward!ack(got)
	od
}

active proctype thief()
{
end:	do
	:: forward?_, _, _
	:: backward?_, _
	od
}
