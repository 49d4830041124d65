import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeFrame, Opcode } from '#scripts/rig/websocket.ts'
import { PINGREQ, publishPacket, subscribeAllPacket } from '#testing/mqtt-packets.ts'
import { judgeAnswers, readAnswers } from './answers.ts'
import type { FuzzCase } from './fuzz-case.ts'

const CONNACK = [0x20, 2, 0, 0]
const UPGRADED = Buffer.from('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n')

const good: FuzzCase = {
  number: 0,
  kind: 'valid',
  device: { hardwareId: 'cart-1', password: 'secret' },
  channel: 'tcp',
  entry: 'pipelined',
  writes: [subscribeAllPacket(['dev/cart-1/cmd'], 1, 7), PINGREQ],
  ending: 'ping',
  answers: [],
  copies: 1,
}

function judge(bytes: readonly number[] | Buffer, changes: Partial<FuzzCase> = {}): string | null {
  const fuzzCase = { ...good, ...changes }
  return judgeAnswers(fuzzCase, readAnswers(fuzzCase, Buffer.from(bytes)))
}

describe('the answers to a case', () => {
  for (const [what, bytes] of [
    ['nothing', []],
    ['what belongs to it', [...CONNACK, 0x90, 3, 0, 7, 1, 0xd0, 0]],
    ['its own message', [...CONNACK, ...publishPacket('dev/cart-1/cmd', '{}', { qos: 1, id: 9 })]],
    ['a refusal', [0x20, 2, 0, 4]],
    ['an answer that is cut off', [...CONNACK, 0x90, 3, 0]],
  ] as const) {
    test(`may be ${what}`, () => assert.equal(judge(bytes), null))
  }

  for (const [what, bytes, problem] of [
    ['an answer before CONNACK', [0xd0, 0, ...CONNACK], /first response/],
    ['two CONNACK', [...CONNACK, ...CONNACK], /second CONNACK/],
    ['answers after a refusal', [0x20, 2, 0, 4, 0xd0, 0], /return code 4/],
    ['a packet id nobody sent', [...CONNACK, 0x40, 2, 9, 9], /not sent/],
    ['the packet id 0', [...CONNACK, 0x40, 2, 0, 0], /packet id 0/],
    ['a type only clients send', [...CONNACK, 0xc0, 0], /no server/],
    ['wrong flags', [...CONNACK, 0x60, 2, 0, 7], /flags/],
    ['a SUBACK of nothing', [...CONNACK, 0x90, 2, 0, 7], /return code/],
    [
      'the messages of another',
      [...CONNACK, ...publishPacket('dev/cart-2/cmd', '{}', { qos: 0 })],
      /of another device/,
    ],
  ] as const) {
    test(`must not be ${what}`, () => assert.match(judge(bytes) ?? 'no problem', problem))
  }

  test('let in only who sent the password', () => {
    assert.match(judge(CONNACK, { entry: 'stranger' }) ?? '', /without the password/)
    assert.equal(judge(CONNACK, { entry: 'stranger', writes: [Buffer.from('..secret..')] }), null)
  })

  test('are all that were asked for, in any order', () => {
    assert.equal(judge([...CONNACK, 0xd0, 0, 0x90, 3, 0, 7, 1], { answers: [2, 9, 13] }), null)
    assert.match(judge([...CONNACK, 0xd0, 0], { answers: [2, 9, 13] }) ?? '', /no response of type 9/)
  })

  test('come in frames over a WebSocket', () => {
    const frame = (bytes: number[]) => encodeFrame(Opcode.binary, Buffer.from(bytes), { isMasked: false })
    const channel = 'websocket'
    const whole = Buffer.concat([UPGRADED, frame(CONNACK.slice(0, 3)), frame(CONNACK.slice(3))])
    assert.equal(judge(whole, { channel, answers: [2] }), null)
    const masked = encodeFrame(Opcode.binary, Buffer.from(CONNACK))
    assert.match(judge(Buffer.concat([UPGRADED, masked]), { channel }) ?? '', /masked/)
    assert.match(judge(Buffer.from('SSH-2.0-OpenSSH'), { channel }) ?? '', /HTTP/)
  })
})
