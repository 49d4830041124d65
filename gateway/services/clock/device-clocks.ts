import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import type { Device } from '../fleet.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface DeviceClocksDeps {
  clock: GatewayClock
  events: Pick<Events, 'emit'>
  log: Log
}

/** Finds devices whose clock is wrong, by what they send, and those whose clock is right again. */
export class DeviceClocks {
  readonly #deps: DeviceClocksDeps

  constructor(deps: DeviceClocksDeps) {
    this.#deps = deps
  }

  /**
   * A device sent telemetry whose newest time of its own is `ownMs`; `isSingle` says that it is one reading that came
   * by itself. While the gateway's own clock is in doubt, it is no judge of others.
   */
  heard(device: Device, ownMs: number, receivedAtMs: number, isSingle: boolean): void {
    const { clock, events, log } = this.#deps
    const aheadMs = ownMs - receivedAtMs
    // nearly always
    if (device.clock.isAsBefore(aheadMs) || clock.doubt !== null) return
    const wasWrong = device.clock.offMs !== null
    if (!device.clock.heard(aheadMs, isSingle, this.#monotonicMs)) return
    const { hardwareId } = device.row
    const { offS } = device.clock
    if (offS !== null) log.warn({ hardwareId, offS }, 'the clock of a device is wrong')
    else if (wasWrong) log.info({ hardwareId }, 'the clock of a device is right again')
    events.emit('deviceClockJudged', { hardwareId })
  }

  readonly #monotonicMs = () => this.#deps.clock.monotonicMs()
}
