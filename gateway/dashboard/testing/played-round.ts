import { systemClock } from '#shared/time.ts'
import { type SentFix, sendTrack } from '#testing/course/sent-track.ts'
import type { TestGateway } from '#testing/start-gateway.ts'
import { type Place, toLatLong } from './places.ts'

const MINUTE_MS = 60_000

/** Creates a cart with a lock, and a screen, that has been at these places, each for a number of minutes, up to now. */
export async function playRound(
  gateway: TestGateway,
  cart: string,
  legs: readonly [Place, number][],
  { hasScreen = true } = {},
): Promise<void> {
  const register = async (hardwareId: string, deviceType: string): Promise<string> => {
    const body = { hardware_id: hardwareId, device_type: deviceType, cart }
    return (await gateway.request('POST', '/devices', { body })).body.mqtt.password
  }
  if (hasScreen) await register(`screen-${cart}`, 'cartcaddie')
  const client = await gateway.connect(`lock-${cart}`, await register(`lock-${cart}`, 'teebox'))
  const fixes: SentFix[] = []
  let atMs = systemClock.nowMs() - legs.reduce((sum, [, minutes]) => sum + minutes, 0) * MINUTE_MS
  for (const [place, minutes] of legs)
    for (const untilMs = atMs + minutes * MINUTE_MS; atMs < untilMs; atMs += 30_000)
      fixes.push({ atMs, ...toLatLong(place), speed: 0 })
  await sendTrack(client, `lock-${cart}`, fixes)
}
