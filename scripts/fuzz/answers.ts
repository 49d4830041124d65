import { cutPackets, PACKET, PINGREQ, type RawPacket } from '#testing/mqtt-packets.ts'
import { bytesOf, type FuzzCase } from './fuzz-case.ts'
import { readWebSocketAnswer } from './websocket-answer.ts'

/** Bytes received over one connection. */
export interface Answers {
  packets: readonly RawPacket[]
  /** Fault in the bytes around the packets; null without one. */
  problem: string | null
}

/** Splits the received bytes into packets; an unfinished one at the end is omitted: the connection was closed. */
export function readAnswers({ channel }: FuzzCase, bytes: Buffer): Answers {
  if (channel === 'tcp') return { packets: cutPackets(bytes).packets, problem: null }
  const { content, problem } = readWebSocketAnswer(bytes)
  return { packets: cutPackets(content).packets, problem }
}

/** Returns the fault in the responses to a case; null if they are correct. */
export function judgeAnswers(fuzzCase: FuzzCase, { packets, problem }: Answers): string | null {
  if (problem !== null) return problem
  const [first, ...later] = packets
  if (first === undefined) return missing(fuzzCase, packets)
  if (first.type !== PACKET.connack) return `the first response is of type ${first.type}`
  // the ping after them may have filled up what they lacked
  const sent = Buffer.concat([bytesOf(fuzzCase), PINGREQ])
  const isLoginKnown = fuzzCase.entry !== 'stranger' || isSentIn(fuzzCase, sent)
  const returnCode = first.body[1]
  if (returnCode === 0 && !isLoginKnown) return 'accepted without the password'
  if (returnCode !== 0 && later.length > 0) return `responses after the return code ${returnCode}`
  for (const packet of packets) {
    const fault = faultOf(packet, fuzzCase, sent)
    if (fault !== null) return `${fault}: type ${packet.type}, flags ${packet.flags}, ${packet.body.toString('hex')}`
  }
  if (later.some(({ type }) => type === PACKET.connack)) return 'a second CONNACK'
  return missing(fuzzCase, packets)
}

/** Frames are masked, with one mask for all: the password is searched for with that mask. */
function isSentIn({ channel, device }: FuzzCase, sent: Buffer): boolean {
  return channel === 'http' || sent.includes(device.password)
}

function faultOf({ type, flags, body }: RawPacket, fuzzCase: FuzzCase, sent: Buffer): string | null {
  if (type === PACKET.publish) return publishFault(flags, body, fuzzCase.device.hardwareId)
  if (flags !== (type === PACKET.pubrel ? 2 : 0)) return 'wrong flags'
  switch (type) {
    case PACKET.connack:
      return body.length === 2 && (body[0] ?? 2) < 2 && (body[1] ?? 9) < 6 ? null : 'not a CONNACK'
    case PACKET.puback:
    case PACKET.pubrec:
    case PACKET.pubrel:
    case PACKET.pubcomp:
    case PACKET.unsuback:
      return body.length === 2 ? idFault(body, fuzzCase, sent) : 'wrong length'
    case PACKET.suback:
      if (body.length < 3) return 'a SUBACK without a return code'
      if (!body.subarray(2).every((code) => code < 3 || code === 128)) return 'wrong return code'
      return idFault(body, fuzzCase, sent)
    case PACKET.pingresp:
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
  return /^(cmd|cfg|ta)$/.test(topic.replace(`dev/${hardwareId}/`, '')) ? null : 'a topic of another device'
}

/** Responses have no fixed order: some wait for the disk. */
function missing({ answers }: FuzzCase, packets: readonly RawPacket[]): string | null {
  const types = packets.map(({ type }) => type)
  const countOf = (all: readonly number[], wanted: number) => all.filter((type) => type === wanted).length
  const lost = answers.find((type) => countOf(types, type) < countOf(answers, type))
  return lost === undefined ? null : `no response of type ${lost}; got ${types}`
}
