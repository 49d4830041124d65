import type { MqttTraffic } from '#shared/mqtt-status.ts'
import { LoadAverage } from './load-average.ts'
import { Meter } from './rate-meter.ts'

/** Traffic in one direction, of all connections together: PUBLISH packets, and packets of every type. */
export class Traffic {
  readonly published: Meter
  readonly byQos: [number, number, number] = [0, 0, 0]
  onFastLane = 0
  packets = 0
  packetBytes = 0
  /** Averages a minute. */
  readonly load = { messages: new LoadAverage(), publish: new LoadAverage(), bytes: new LoadAverage() }

  constructor(nowMs: number) {
    this.published = new Meter(nowMs)
  }

  publish(qos: 0 | 1 | 2, payloadBytes: number): void {
    this.published.messages++
    this.published.bytes += payloadBytes
    this.byQos[qos]++
  }

  /** Counts PUBLISH packets of QoS 1 from the fast lane. */
  publishRun(count: number, payloadBytes: number): void {
    this.published.messages += count
    this.published.bytes += payloadBytes
    this.byQos[1] += count
    this.packets += count
    this.onFastLane += count
  }

  /** Must be called every few seconds. */
  sample(nowMs: number, sinceLastMs: number): void {
    this.published.sample(nowMs)
    this.load.messages.sample(this.packets, sinceLastMs)
    this.load.publish.sample(this.published.messages, sinceLastMs)
    this.load.bytes.sample(this.packetBytes, sinceLastMs)
  }

  read(nowMs: number): MqttTraffic {
    const { published, byQos, onFastLane, packets, packetBytes } = this
    const { messages, bytes } = published
    const perSecond = published.perSecond(nowMs)
    return { messages, bytes, perSecond, byQos: [...byQos], onFastLane, packets, packetBytes }
  }
}
