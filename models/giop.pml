/*
 * CORBA's General Inter-ORB Protocol with servers that migrate, after the public
 * specification: users call objects by way of a client each, clients send their
 * requests to the agent (the object adapter of a host) where they believe an
 * object to be, by way of the transport layer of that host.  An agent passes a
 * request on to the object's server, or answers with the address of the other
 * agent if the server has moved there (location forward).
 *
 * The error is one that was found by model checking: transport and agent hand
 * messages to each other over an interface without room.  A transport that
 * holds a request for the agent does not take the reply that the agent holds
 * for it, and both wait.  In the end all the others wait for them, users for
 * replies and servers for the agent's leave to move.
 *
 * Room for one request of each client at the interface mends it: -DFIXED.
 *
 * expect: violated
 * exit: 1
 * violation: deadlock depth 19
 * scale: FIXED=1 states 745454 transitions 2492865
 * scale: SERVERS=2 states 32408 transitions 116009
 * scale: USERS=3 states 21276 transitions 74928
 * scale: USERS=4 states 180631 transitions 742663
 * scale: USERS=4 SERVERS=2
 */

#ifndef USERS
#define USERS 2
#endif
#ifndef SERVERS
#define SERVERS 1
#endif
#define AGENTS 2                   /* a server moves to and fro between them */

#ifdef FIXED
#define ROOM USERS
#else
#define ROOM 0
#endif

mtype = { reply, forward, leave, arrive };

chan call[USERS] = [0] of { byte };                  /* user to client: object */
chan result[USERS] = [0] of { bit };                 /* client to user */
chan uplink[AGENTS] = [1] of { byte, byte };         /* client, object */
chan deliver[AGENTS] = [ROOM] of { byte, byte };     /* transport to agent */
chan collect[AGENTS] = [0] of { mtype, byte };       /* agent to transport */
chan downlink[USERS] = [1] of { mtype, byte };       /* and the agent it is from */
chan dispatch[SERVERS] = [USERS] of { byte };        /* agent to server: client */
chan notice[AGENTS] = [0] of { mtype, byte, byte };  /* server to agent */

proctype user(byte i)
{
	byte object;

	do
	:: select(object : 0 .. SERVERS - 1);
		call[i]!object;
		result[i]?_
	od
}

proctype client(byte i)
{
	byte address[SERVERS];         /* where each object was last */
	byte object;
	byte from;
	mtype kind;

	do
	:: call[i]?object;
		do
		:: uplink[address[object]]!i, object;
			downlink[i]?kind, from;
			if
			:: kind == forward -> address[object] = (from + 1) % AGENTS
			:: kind == reply -> break
			fi
		od;
		result[i]!0
	od
}

proctype transport(byte a)
{
	byte who;
	byte object;
	mtype kind;

	do
	:: uplink[a]?who, object -> deliver[a]!who, object
	:: collect[a]?kind, who -> downlink[who]!kind, a
	od
}

proctype agent(byte a)
{
	bool here[SERVERS];
	byte who;
	byte object;

	if
	:: a == 0 ->
		d_step {
			for (object : 0 .. SERVERS - 1) {
				here[object] = true
			}
		}
	:: else
	fi;
	do
	:: deliver[a]?who, object ->
		if
		:: here[object] -> dispatch[object]!who
		:: else -> collect[a]!forward, who
		fi
	:: notice[a]?reply, who, object -> collect[a]!reply, who
	:: notice[a]?leave, who, object -> here[object] = false
	:: notice[a]?arrive, who, object -> here[object] = true
	od
}

proctype server(byte object)
{
	byte at;
	byte who;

	do
	:: dispatch[object]?who -> notice[at]!reply, who, object
	:: notice[at]!leave, 0, object ->
		/* requests on their way are still answered from here */
		do
		:: dispatch[object]?who -> notice[at]!reply, who, object
		:: empty(dispatch[object]) -> break
		od;
		at = (at + 1) % AGENTS;
		notice[at]!arrive, 0, object
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. USERS - 1) {
			run user(i);
			run client(i)
		}
		for (i : 0 .. AGENTS - 1) {
			run transport(i);
			run agent(i)
		}
		for (i : 0 .. SERVERS - 1) {
			run server(i)
		}
	}
}
