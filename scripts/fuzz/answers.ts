import { bytesOf, type FuzzCase } from './fuzz-case.ts'
import { PacketType, PINGREQ } from './packets.ts'
import { readWebSocketAnswer } from './websocket-frames.ts'

/** A packet of the gateway. */
export interface Answer {
  type: number
  flags: number
  body: Buffer
}

/** What came back over one connection. */
export interface Answers {
  packets: readonly Answer[]
  /** Of the bytes around the packets; null when there is nothing to say. */
  problem: string | null
}

/** Cuts what came back into packets; an unfinished one at the end is left out: the connection was closed. */
export function readAnswers({ channel }: FuzzCase, bytes: Buffer): Answers {
  if (channel === 'tcp') return { packets: cut(bytes), problem: null }
  const { content, problem } = readWebSocketAnswer(bytes)
  return { packets: cut(content), problem }
}

/** What is wrong about the answers to a case; null of a gateway that behaves. */
export function judgeAnswers(fuzzCase: FuzzCase, { packets, problem }: Answers): string | null {
  if (problem !== null) return problem
  const [first, ...later] = packets
  if (first === undefined) return missing(fuzzCase, packets)
  if (first.type !== PacketType.connack) return `the first answer is of type ${first.type}`
  // the ping behind them may have filled up what they lacked
  const sent = Buffer.concat([bytesOf(fuzzCase), PINGREQ])
  const isLoginKnown = fuzzCase.entry !== 'stranger' || isSentIn(fuzzCase, sent)
  const returnCode = first.body[1]
  if (returnCode === 0 && !isLoginKnown) return 'let in without the password'
  if (returnCode !== 0 && later.length > 0) return `answers after the return code ${returnCode}`
  for (const packet of packets) {
    const fault = faultOf(packet, fuzzCase, sent)
    if (fault !== null)
      return `${fault}: type ${packet.type}, flags ${packet.flags}, ${packet.body.toString('hex')}`
  }
  if (later.some(({ type }) => type === PacketType.connack)) return 'a second CONNACK'
  return missing(fuzzCase, packets)
}

/** Frames are masked, with one mask for all: the password is looked for below it. */
function isSentIn({ channel, device }: FuzzCase, sent: Buffer): boolean {
  return channel === 'http' || sent.includes(device.password)
}

function faultOf({ type, flags, body }: Answer, fuzzCase: FuzzCase, sent: Buffer): string | null {
  if (type === PacketType.publish) return publishFault(flags, body, fuzzCase.device.hardwareId)
  if (flags !== (type === PacketType.pubrel ? 2 : 0)) return 'wrong flags'
  switch (type) {
    case PacketType.connack:
      return body.length === 2 && (body[0] ?? 2) < 2 && (body[1] ?? 9) < 6 ? null : 'not a CONNACK'
    case PacketType.puback:
    case PacketType.pubrec:
    case PacketType.pubrel:
    case PacketType.pubcomp:
    case PacketType.unsuback:
      return body.length === 2 ? idFault(body, fuzzCase, sent) : 'wrong length'
    case PacketType.suback:
      if (body.length < 3) return 'a SUBACK without a return code'
      if (!body.subarray(2).every((code) => code < 3 || code === 128)) return 'wrong return code'
      return idFault(body, fuzzCase, sent)
    case PacketType.pingresp:
      return body.length === 0 ? null : 'wrong length'
    default:
      return 'a type that no server sends'
  }
}

function idFault(body: Buffer, { channel }: FuzzCase, sent: Buffer): string | null {
  const id = body.subarray(0, 2)
  if (id.equals(Buffer.from([0, 0]))) return 'the packet id 0'
  return channel === 'http' || sent.includes(id) ? null : 'a packet id that was not sent'
}

function publishFault(flags: number, body: Buffer, hardwareId: string): string | null {
  if ((flags & 6) === 6) return 'QoS 3'
  if (body.length < 2) return 'no topic'
  const topic = body.toString('utf8', 2, 2 + body.readUInt16BE())
  return /^(cmd|cfg|ta)$/.test(topic.replace(`dev/${hardwareId}/`, '')) ? null : 'a topic that is not its own'
}

/** Answers come in no order: some wait for the disk. */
function missing({ answers }: FuzzCase, packets: readonly Answer[]): string | null {
  const types = packets.map(({ type }) => type)
  const lost = answers.find((type) => !types.includes(type))
  return lost === undefined ? null : `no answer of type ${lost}; got ${types}`
}

function cut(bytes: Buffer): Answer[] {
  const packets: Answer[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    let [length, lengthEnd, digit] = [0, at + 1, 128]
    while (digit >= 128 && lengthEnd < bytes.length) {
      digit = bytes[lengthEnd] ?? 0
      length += (digit & 127) * 128 ** (lengthEnd - at - 1)
      lengthEnd++
    }
    if (digit >= 128 || lengthEnd + length > bytes.length) break
    const first = bytes[at] ?? 0
    packets.push({ type: first >> 4, flags: first & 15, body: bytes.subarray(lengthEnd, lengthEnd + length) })
    at = lengthEnd + length
  }
  return packets
}
