/*
 * A sliding window protocol, go back n.  The sender has up to WINDOW messages
 * under way, numbered modulo MODULUS; an acknowledgement of one number is one
 * of all before it.  When nothing moves any more, it starts again at the
 * oldest message that is not acknowledged.  Both channels lose messages.
 *
 * With a window as large as the modulus the receiver cannot tell a repeated
 * message from a new one: -DWINDOW=3 shows how an old item is accepted.
 *
 * expect: verified
 * states: 6567
 * transitions: 14580
 * depth: 219
 * exit: 0
 * scale: WINDOW=3 MODULUS=4 states 41746 transitions 110765
 */

#ifndef WINDOW
#define WINDOW 2
#endif
#ifndef MODULUS
#define MODULUS 3
#endif
#define ITEMS 7                    /* payloads count modulo this */

#define after(n)        (((n) + 1) % MODULUS)
#define distance(a, b)  (((b) + MODULUS - (a)) % MODULUS)

chan data = [WINDOW] of { byte, byte };   /* number, payload */
chan acks = [WINDOW] of { byte };         /* the number expected next */

active proctype sender()
{
	byte oldest;               /* number of the oldest one not acknowledged */
	byte payload;              /* what that one carries */
	byte n_sent;               /* how many are under way */
	byte n;

	do
	:: n_sent < WINDOW ->
		data!(oldest + n_sent) % MODULUS, (payload + n_sent) % ITEMS;
		n_sent++
	:: acks?n -> d_step {
		n = distance(oldest, n);
		if
		:: n <= n_sent ->
			oldest = (oldest + n) % MODULUS;
			payload = (payload + n) % ITEMS;
			n_sent = n_sent - n
		:: else
		fi;
		n = 0
	   }
	:: timeout -> n_sent = 0
	od
}

active proctype receiver()
{
	byte expected;
	byte wanted;
	byte n;
	byte payload;

	do
	:: data?n, payload ->
		if
		:: n == expected -> atomic {
			assert(payload == wanted);
			expected = after(expected);
			wanted = (wanted + 1) % ITEMS
		   }
		:: else
		fi;
		acks!expected
	od
}

active proctype loss()
{
end:	do
	:: data?_, _
	:: acks?_
	od
}
