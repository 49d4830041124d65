import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { IClientOptions, MqttClient } from 'mqtt'
import { eventually } from '#shared/testing/eventually.ts'
import { startGateway, type TestGateway } from '#testing/start-gateway.ts'

let gateway: TestGateway

before(async () => {
  gateway = await startGateway()
})
after(() => gateway.stop())

const KEPT: IClientOptions = { clean: false }

/** Collects everything that a client is sent, from its creation on. */
function collect(client: MqttClient): { topic: string; payload: string; qos: number; retain: boolean }[] {
  const messages: ReturnType<typeof collect> = []
  client.on('message', (topic, payload, { qos, retain }) => {
    messages.push({ topic, payload: payload.toString(), qos, retain })
  })
  return messages
}

async function away(client: MqttClient): Promise<void> {
  await client.endAsync(true)
}

describe('a session that is kept', () => {
  for (const qos of [1, 2] as const) {
    test(`gets what was published with QoS ${qos} while it was away, in order, over a restart`, async () => {
      const clientId = `kept-${qos}`
      const topic = `shop/${qos}/news`
      const reader = await gateway.program({ ...KEPT, clientId })
      await reader.subscribeAsync(topic, { qos })
      await away(reader)
      const sender = await gateway.program()
      for (let i = 0; i < 250; i++) await sender.publishAsync(topic, `${i}`, { qos })
      await gateway.restart()
      const messages: string[] = []
      const again = await gateway.program({
        ...KEPT,
        clientId,
      })
      again.on('message', (_topic, payload) => messages.push(payload.toString()))
      await eventually(() => messages.length >= 250, 'all delivered')
      await gateway.restart()
      const empty = collect(await gateway.program({ ...KEPT, clientId }))
      await new Promise(setImmediate)
      assert.deepEqual(empty, [])
      assert.deepEqual(
        messages,
        Array.from({ length: 250 }, (_, i) => `${i}`),
      )
    })
  }
})
