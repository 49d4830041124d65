import type { DeviceLink } from '#scripts/commands/simulate/device-client.ts'
import type { Uplink } from '#shared/wire/mqtt.ts'

/** Link for tests: connects immediately, keeps what is published, acknowledges immediately. */
export class FakeLink implements DeviceLink {
  readonly published: { readonly level: Uplink; readonly payload: string }[] = []
  readonly topics: (string | null)[] = []
  readonly inFlight = 0
  isConnected = false
  connects = 0
  signalLosses = 0
  sleeps = 0

  connect(): void {
    if (this.isConnected) return
    this.isConnected = true
    this.connects += 1
  }

  loseSignal(): void {
    if (this.isConnected) this.signalLosses += 1
    this.isConnected = false
  }

  async sleep(): Promise<void> {
    if (this.isConnected) this.sleeps += 1
    this.isConnected = false
  }

  async publish(level: Uplink, payload: string): Promise<void> {
    this.published.push({ level, payload })
  }

  follow(topic: string | null): void {
    this.topics.push(topic)
  }

  /** Payloads of one level, in order. */
  of(level: Uplink): string[] {
    return this.published.filter((message) => message.level === level).map((message) => message.payload)
  }
}
