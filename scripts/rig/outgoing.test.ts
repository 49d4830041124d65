import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Outgoing, OutgoingMessages } from './outgoing.ts'

const once: Outgoing = { topic: 'a', payload: '1', qos: 1, retain: false }
const exactly: Outgoing = { ...once, qos: 2 }

test('the lowest free packet id is given again', () => {
  const outgoing = new OutgoingMessages()
  assert.deepEqual([outgoing.add(once), outgoing.add(once), outgoing.add(once)], [1, 2, 3])
  outgoing.acknowledge(2)
  assert.equal(outgoing.add(once), 2)
})

test('a message of QoS 2 is done with PUBCOMP only, and only after PUBREC', () => {
  const outgoing = new OutgoingMessages()
  const id = outgoing.add(exactly)
  assert.equal(outgoing.acknowledge(id), undefined)
  assert.equal(outgoing.complete(id), undefined)
  outgoing.take(id)
  assert.equal(outgoing.complete(id), exactly)
  assert.equal(outgoing.size, 0)
})

test('what a new connection has to send is in the order it was made, whatever the packet ids', () => {
  const outgoing = new OutgoingMessages()
  outgoing.add(once)
  outgoing.markSent(outgoing.add(exactly))
  outgoing.acknowledge(1)
  outgoing.take(2)
  outgoing.add(once)
  assert.deepEqual(outgoing.toSend(), [
    { id: 2, message: exactly, isCopy: true, isTaken: true },
    { id: 1, message: once, isCopy: false, isTaken: false },
  ])
})
