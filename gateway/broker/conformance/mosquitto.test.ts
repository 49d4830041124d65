import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { createKeyPair, KeyPairFolder } from '#shared/testing/key-pairs.ts'
import { hasMosquittoClients, MosquittoClients } from '#testing/mosquitto-clients.ts'
import { ADMIN_KEY, startGateway, type TestGateway } from '#testing/start-gateway.ts'

const isHere = hasMosquittoClients()
// CI installs them
const skip = !isHere && process.env.CI === undefined ? 'the clients of mosquitto are not installed' : false

let folder: KeyPairFolder
let gateway: TestGateway
let clients: MosquittoClients

before(async () => {
  folder = new KeyPairFolder(createKeyPair())
  gateway = await startGateway({ ...folder.settings, CARTBARN_MQTTS_PORT: '0' })
})
afterEach(() => clients.stop())
after(async () => {
  await gateway.stop()
  folder.remove()
})

async function publish(...args: string[]): Promise<void> {
  const { code, output } = await clients.run('mosquitto_pub', ...args)
  assert.equal(code, 0, output)
}

for (const protocol of ['mqtt', 'mqtts'] as const) {
  describe(`the clients of mosquitto over ${protocol}`, { skip }, () => {
    before(async () => {
      const caFile = protocol === 'mqtts' ? gateway.config.tls?.certPath : undefined
      clients = new MosquittoClients(gateway[protocol], await gateway.adminId(), ADMIN_KEY, caFile)
    })

    for (const published of [0, 1, 2]) {
      for (const granted of [0, 1, 2]) {
        test(`[MQTT-7.0.0-2] [MQTT-7.1.1-1] publish QoS ${published}, subscribe QoS ${granted}`, async () => {
          const topic = `${protocol}/pairs/${published}/${granted}`
          const live = await clients.subscribe('-t', topic, '-q', `${granted}`)
          const keptId = ['-i', `${protocol}-kept-${published}-${granted}`, '-c', '-q', `${granted}`]
          const { code } = await clients.run('mosquitto_sub', ...keptId, '-t', topic, '-E')
          assert.equal(code, 0)
          await publish('-t', topic, '-m', 'hello', '-q', `${published}`)
          const qos = Math.min(published, granted)
          assert.deepEqual(await live.next(), { qos, isRetained: false, topic, payload: 'hello' })
          // waits for a retained message, or for a live one with QoS 0, which is not retained
          const kept = await clients.subscribe(...keptId, '-t', topic)
          if (qos === 0) await publish('-t', topic, '-m', 'hello', '-q', `${published}`)
          assert.deepEqual(await kept.next(), { qos, isRetained: false, topic, payload: 'hello' })
        })
      }
    }

    test('a retained message reaches later subscribers until it is cleared', async () => {
      const topic = `${protocol}/retained/m`
      await publish('-t', topic, '-m', 'kept', '-q', '1', '-r')
      const late = await clients.subscribe('-t', `${protocol}/retained/#`, '-q', '2')
      assert.deepEqual(await late.next(), { qos: 1, isRetained: true, topic, payload: 'kept' })
      // cleared by an empty message, which connected subscribers receive
      await publish('-t', topic, '-n', '-q', '1', '-r')
      assert.deepEqual(await late.next(), { qos: 1, isRetained: false, topic, payload: '' })
      await publish('-t', `${protocol}/retained/n`, '-m', 'other', '-q', '1', '-r')
      const later = await clients.subscribe('-t', `${protocol}/retained/#`)
      assert.equal((await later.next()).payload, 'other')
    })

    test('a will is published when the client is killed, and not when it disconnects', async () => {
      const watcher = await clients.subscribe('-t', 'will/#', '-q', '2')
      for (const [name, signal] of [
        ['polite', 'SIGINT'],
        ['killed', 'SIGKILL'],
      ] as const) {
        const will = ['--will-topic', `will/${name}`, '--will-payload', 'gone', '--will-qos', '2']
        const mortal = await clients.subscribe('-t', 'nothing', ...will)
        await mortal.stop(signal)
      }
      assert.deepEqual(await watcher.next(), {
        qos: 2,
        isRetained: false,
        topic: 'will/killed',
        payload: 'gone',
      })
    })

    test('a request receives its response', async () => {
      const responder = await clients.subscribe('-t', 'ask')
      const answer = clients.run('mosquitto_rr', '-t', 'ask', '-e', 'tell', '-m', 'question', '-q', '1', '-W', '5')
      assert.equal((await responder.next()).payload, 'question')
      await publish('-t', 'tell', '-m', 'answer', '-q', '1')
      assert.deepEqual(await answer, { code: 0, output: 'answer\n' })
    })

    test('a wrong key is rejected with an error message', async () => {
      const wrong = new MosquittoClients(gateway.mqtt, await gateway.adminId(), 'wrong')
      const { code, output } = await wrong.run('mosquitto_pub', '-t', 'x', '-m', 'x')
      assert.notEqual(code, 0)
      assert.match(output, /bad user name or password/i)
    })
  })
}
