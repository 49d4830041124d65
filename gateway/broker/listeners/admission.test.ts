import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { Connections } from './admission.ts'

class Idle extends Duplex {
  override _read(): void {}
}

test('a place is free again once its socket is closed: of all, and of one address', async () => {
  const connections = new Connections({ total: 3, perAddress: 2, failedLoginsPerSecond: 5 })
  const sockets = [new Idle(), new Idle(), new Idle()] as const
  assert.equal(connections.admit(sockets[0], 'near'), undefined)
  assert.equal(connections.admit(sockets[1], 'near'), undefined)
  assert.equal(connections.admit(new Idle(), 'near'), 'too_many_connections_of_address')
  assert.equal(connections.admit(sockets[2], 'far'), undefined)
  assert.equal(connections.admit(new Idle(), 'elsewhere'), 'too_many_connections')
  sockets[0].destroy()
  await once(sockets[0], 'close')
  assert.equal(connections.admit(new Idle(), 'near'), undefined)
})

test('an address that tries passwords gets a few connections a second, and nobody else fewer', () => {
  const connections = new Connections({ total: 1000, perAddress: 1000, failedLoginsPerSecond: 5 })
  for (let i = 0; i < 101; i++) connections.loginFailed('guesser')
  const admitted = Array.from({ length: 100 }, () => connections.admit(new Idle(), 'guesser'))
  const taken = admitted.filter((refusal) => refusal === undefined).length
  // twenty at once, and what the time this takes adds to it
  assert.ok(taken >= 20 && taken < 100, `${taken} taken`)
  assert.ok(admitted.includes('too_many_failed_logins'))
  assert.equal(connections.admit(new Idle(), 'neighbour'), undefined)
})

test('what is open at the end is closed', async () => {
  const connections = new Connections({ total: 10, perAddress: 10, failedLoginsPerSecond: 5 })
  const socket = new Idle()
  connections.admit(socket, 'near')
  await connections.stop()
  assert.ok(socket.destroyed)
})
