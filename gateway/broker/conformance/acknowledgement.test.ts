import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { acknowledgement, idOf, PACKET, readPublish } from '#testing/mqtt-packets.ts'
import type { RawMqtt } from '#testing/raw-mqtt.ts'
import { rawProgram } from '#testing/raw-program.ts'
import { metric, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const TOPIC = 'acknowledgement/x'
const { puback, pubrec, pubcomp } = PACKET

let gateway: TestGateway
let sender: RawMqtt
let violationsBefore: number

before(async () => {
  gateway = await startGateway()
  sender = await rawProgram(gateway)
})
beforeEach(async () => {
  violationsBefore = await violations()
})
after(() => gateway.stop())

const violations = () => metric(gateway, 'cartbarn_mqtt_refused_total', 'protocol_violation')

/** Returns a client with a message in flight, and the packet identifier of the message. */
async function receiver(qos: 1 | 2, fields = {}): Promise<{ client: RawMqtt; id: number }> {
  const client = await rawProgram(gateway, fields)
  await client.subscribe({ [TOPIC]: qos })
  await sender.publish(TOPIC, 'message', { qos })
  const message = readPublish(await client.next(PACKET.publish))
  assert.equal(message.qos, qos)
  return { client, id: message.id ?? 0 }
}

async function assertEnded(client: RawMqtt): Promise<void> {
  assert.equal(await client.nextOrClosed(), null)
  assert.equal(await violations(), violationsBefore + 1)
}

async function assertUnharmed(client: RawMqtt): Promise<void> {
  await sender.publish(TOPIC, 'next', { qos: 2 })
  assert.equal(readPublish(await client.next(PACKET.publish)).payload, 'next')
  assert.equal(await violations(), violationsBefore)
}

describe('an acknowledgement of the wrong type closes the connection and is counted', () => {
  // names in brackets are those of Mosquitto's own tests in test/broker
  const wrong = [
    { name: 'PUBCOMP for QoS 1 (02-subpub-qos1-bad-pubcomp)', qos: 1, type: pubcomp },
    { name: 'PUBREC for QoS 1 (02-subpub-qos1-bad-pubrec)', qos: 1, type: pubrec },
    { name: 'PUBACK in the place of PUBREC (02-subpub-qos2-bad-puback-1)', qos: 2, type: puback },
    { name: 'PUBCOMP in the place of PUBREC (02-subpub-qos2-bad-pubcomp)', qos: 2, type: pubcomp },
  ] as const
  for (const { name, qos, type } of wrong) {
    test(`[MQTT-4.8.0-1] ${name}`, async () => {
      const { client, id } = await receiver(qos)
      client.send(acknowledgement(type, id))
      await assertEnded(client)
    })
  }

  test('[MQTT-4.8.0-1] PUBACK in the place of PUBCOMP (02-subpub-qos2-bad-puback-2)', async () => {
    const { client, id } = await receiver(2)
    client.send(acknowledgement(pubrec, id))
    assert.equal(idOf(await client.next(PACKET.pubrel)), id)
    client.send(acknowledgement(puback, id))
    await assertEnded(client)
  })

  test('[MQTT-4.8.0-1] of a message that is kept: it comes again with the next connection', async () => {
    const fields = { clientId: 'kept', clean: false }
    const { client, id } = await receiver(2, fields)
    client.send(acknowledgement(puback, id))
    await assertEnded(client)
    const again = await rawProgram(gateway, fields)
    const message = readPublish(await again.next(PACKET.publish))
    assert.deepEqual([message.id, message.isDup], [id, true])
  })
})

describe('an acknowledgement is harmless', () => {
  test('of a packet identifier under which nothing is in flight', async () => {
    const { client, id } = await receiver(1)
    client.send(...[puback, pubrec, pubcomp].map((type) => acknowledgement(type, id + 1)))
    assert.equal(idOf(await client.next(PACKET.pubrel)), id + 1)
    await assertUnharmed(client)
  })

  test('that is repeated', async () => {
    const once = await receiver(1)
    once.client.send(...[puback, puback].map((type) => acknowledgement(type, once.id)))
    await assertUnharmed(once.client)
    const twice = await receiver(2)
    twice.client.send(...[pubrec, pubrec, pubcomp, pubcomp, pubrec].map((type) => acknowledgement(type, twice.id)))
    await assertUnharmed(twice.client)
  })

  test('that answers what an earlier connection was sent', async () => {
    const fields = { clientId: 'late', clean: false }
    const { client, id } = await receiver(2, fields)
    client.send(acknowledgement(pubrec, id))
    await client.next(PACKET.pubrel)
    const successor = await rawProgram(gateway, fields)
    assert.equal(idOf(await successor.next(PACKET.pubrel)), id)
    successor.send(acknowledgement(pubrec, id), acknowledgement(pubcomp, id))
    await assertUnharmed(successor)
  })
})
