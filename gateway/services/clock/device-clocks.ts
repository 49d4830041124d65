import type { GatewayTime } from '#domain/device-clock.ts'
import type { Events } from '#gateway/events.ts'
import type { Log } from '#shared/log.ts'
import type { Device } from '../fleet.ts'
import type { ClockConfirmation } from './confirmation.ts'
import type { GatewayClock } from './gateway-clock.ts'

interface DeviceClocksDeps {
  clock: GatewayClock
  clockConfirmation: Pick<ClockConfirmation, 'isConfirmed'>
  events: Pick<Events, 'emit'>
  log: Log
}

/** Detects from their messages devices whose clock is wrong, and devices whose clock is right again. */
export class DeviceClocks {
  readonly #deps: DeviceClocksDeps
  readonly #gateway: GatewayTime

  constructor(deps: DeviceClocksDeps) {
    this.#deps = deps
    const { clock, clockConfirmation } = deps
    this.#gateway = {
      monotonicMs: () => clock.monotonicMs(),
      get isConfirmed() {
        return clockConfirmation.isConfirmed
      },
    }
  }

  /**
   * Takes telemetry of a device whose newest own timestamp is `ownMs`; `isSingle` is true for a reading sent alone.
   * While the gateway's own clock is in doubt, device clocks are not evaluated.
   */
  received(device: Device, ownMs: number, receivedAtMs: number, isSingle: boolean): void {
    const { clock, events, log } = this.#deps
    const aheadMs = ownMs - receivedAtMs
    // true for nearly every message
    if (device.clock.isAsBefore(aheadMs) || clock.doubt !== null) return
    const wasWrong = device.clock.isWrong
    if (!device.clock.received(aheadMs, isSingle, this.#gateway)) return
    const { hardwareId } = device.row
    const { isWrong, offS } = device.clock
    if (isWrong && !wasWrong) log.warn({ hardwareId, offS }, 'device clock is wrong')
    if (wasWrong && !isWrong) log.info({ hardwareId }, 'device clock is right again')
    events.emit('deviceClockJudged', { hardwareId })
  }
}
