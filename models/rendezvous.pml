/*
 * Clients and servers that meet.  The channel `door` has no buffer: sending
 * and receiving are one step of two processes.  A client passes a channel of
 * its own through the door, and the server that took it answers there, so
 * that answers cannot be mixed up.
 *
 * A server squares its request; the client checks the answer.
 *
 * expect: verified
 * states: 63261
 * transitions: 299838
 * depth: 25
 * exit: 0
 */

#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef SERVERS
#define SERVERS 2
#endif

mtype = { request, reply };

chan door = [0] of { mtype, byte, chan };

active [CLIENTS] proctype client()
{
	chan mine = [0] of { mtype, byte };
	byte question;
	byte answer;

	do
	:: select(question : 1 .. 2);
		door!request(question, mine);
		mine?reply(answer);
		assert(answer == question * question);
		answer = 0
	od
}

active [SERVERS] proctype server()
{
	chan to;
	byte value;

end:	do
	:: atomic {
		door?request(value, to) -> value = value * value
	   };
		to!reply(value);
		value = 0
	od
}
