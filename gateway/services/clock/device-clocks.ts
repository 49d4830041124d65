import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import type { Device } from '../fleet.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface DeviceClocksDeps {
  clock: GatewayClock
  events: Pick<Events, 'emit'>
  log: Log
}

/** Detects from their messages devices whose clock is wrong, and devices whose clock is right again. */
export class DeviceClocks {
  readonly #deps: DeviceClocksDeps

  constructor(deps: DeviceClocksDeps) {
    this.#deps = deps
  }

  /**
   * Takes telemetry of a device whose newest own timestamp is `ownMs`; `isSingle` is true for a reading sent alone.
   * While the gateway's own clock is in doubt, device clocks are not evaluated.
   */
  heard(device: Device, ownMs: number, receivedAtMs: number, isSingle: boolean): void {
    const { clock, events, log } = this.#deps
    const aheadMs = ownMs - receivedAtMs
    // true for nearly every message
    if (device.clock.isAsBefore(aheadMs) || clock.doubt !== null) return
    const wasWrong = device.clock.offMs !== null
    if (!device.clock.heard(aheadMs, isSingle, this.#monotonicMs)) return
    const { hardwareId } = device.row
    const { offS } = device.clock
    if (offS !== null) log.warn({ hardwareId, offS }, 'device clock is wrong')
    else if (wasWrong) log.info({ hardwareId }, 'device clock is right again')
    events.emit('deviceClockJudged', { hardwareId })
  }

  readonly #monotonicMs = () => this.#deps.clock.monotonicMs()
}
