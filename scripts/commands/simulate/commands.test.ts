import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CommandAck, type CommandEffects, carryOut, parseCommand } from './commands.ts'

async function obey(payload: string, effects: Partial<CommandEffects> = {}): Promise<CommandAck[]> {
  const acks: CommandAck[] = []
  const command = parseCommand(payload)
  assert.ok(command !== undefined)
  const nothing = {
    turnLock: () => {},
    reportPosition: () => {},
    reboot: () => {},
    download: async () => {},
    readsMessages: true,
  }
  await carryOut(command, { ...nothing, ...effects }, (ack) => acks.push(ack))
  return acks
}

test('every known command is acknowledged, then completed', async () => {
  for (const cmd of ['lock', 'unlock', 'locate', 'reboot', 'message', 'refresh_config']) {
    assert.deepEqual(await obey(JSON.stringify({ id: '1', cmd })), [
      { id: '1', st: 'acknowledged' },
      { id: '1', st: 'completed' },
    ])
  }
})

test('a golfer who does not look at the screen confirms no message of staff, but a command of a program', async () => {
  const states = async (params: object) =>
    (await obey(JSON.stringify({ id: '1', cmd: 'message', params }), { readsMessages: false })).map(({ st }) => st)
  assert.deepEqual(await states({ text: 'Fog', message_id: 'm' }), ['acknowledged'])
  assert.deepEqual(await states({ text: 'Fog' }), ['acknowledged', 'completed'])
})

test('an unknown command fails, and so does a failed download', async () => {
  const failed = (acks: CommandAck[]) => acks.at(-1)?.st === 'failed'
  assert.ok(failed(await obey('{"id":"1","cmd":"dance"}')))
  assert.ok(failed(await obey('{"id":"1","cmd":"constructor"}')))
  assert.ok(failed(await obey('{"id":"1","cmd":"fetch_geofences","params":{}}')))
  const download = () => Promise.reject(new Error('404'))
  assert.ok(failed(await obey('{"id":"1","cmd":"fetch_geofences","params":{"url":"/x"}}', { download })))
})

test('a payload that is not a command is ignored', () => {
  for (const payload of ['', '{', '[]', '{"id":1,"cmd":"lock"}', '{"cmd":"lock"}']) {
    assert.equal(parseCommand(payload), undefined)
  }
})
