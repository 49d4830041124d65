import { createHmac, randomBytes } from 'node:crypto'
import { type Caller, canSee } from '#domain/access.ts'
import { ForbiddenError, InvalidRequestError, UnauthenticatedError } from '#shared/errors.ts'
import { hashesEqual } from '#shared/ids.ts'
import { DAY_MS, toIso } from '#shared/time.ts'
import type { GeofenceFetchJson } from '#shared/wire/geofences.ts'
import type { Store } from '#store/store.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { Users } from '../users.ts'
import type { Geofences } from './geofences.ts'

interface GeofenceTokensDeps {
  store: Pick<Store, 'write'>
  fleet: Fleet
  geofences: Pick<Geofences, 'versionOf'>
  users: Pick<Users, 'callerOf'>
  clock: Pick<GatewayClock, 'nowMs' | 'isTrusted'>
}

const VALID_MS = DAY_MS
const SECRET_NAME = 'geofence_token'
const SECRET_BYTES = 32
/** Group, device number, expiry in ms since 1970, user, HMAC-SHA-256 of the four. */
const TOKEN = /^((\d{1,16})\.(\d{1,15})\.(\d{1,15})\.(hub|[0-9a-f-]{36}))\.([A-Za-z0-9_-]{43})$/
const USER_ID = /^[0-9a-f-]{36}$/
/** Stands for the user when the head office asked. */
const HEAD_OFFICE = 'hub'

/** What a token says, once it is known to be ours. */
export interface GeofenceToken {
  groupId: number
  deviceId: number
  expiresAtMs: number
  /** Who asked the device to download, or `hub`. */
  userId: string
}

/**
 * Tokens a device downloads the zones of its group with: good for a day, as often as it likes, and dead once the device
 * has left the group or the register, or the user who had it sent may not see the device any more. They are signed, not
 * stored; a client with a token can read zones and do nothing else.
 */
export class GeofenceTokens {
  readonly #deps: GeofenceTokensDeps
  #secret: Uint8Array | undefined

  constructor(deps: GeofenceTokensDeps) {
    this.#deps = deps
  }

  /** Reads the secret, or makes it at the first start. */
  async load(): Promise<void> {
    const made = { name: SECRET_NAME, value: new Uint8Array(randomBytes(SECRET_BYTES)) }
    this.#secret = await this.#deps.store.write('keepSecret', made)
  }

  /** A new token for a device and the group it is in, on behalf of a caller. Throws `no_group` when it is in none. */
  tokenFor({ row }: Device, { userId }: Caller): GeofenceFetchJson {
    const { clock, geofences } = this.#deps
    const { groupId, deviceId, hardwareId } = row
    if (groupId === null)
      throw new InvalidRequestError('no_group', `device ${hardwareId} is in no group: it has no geofences`)
    const expiresAtMs = clock.nowMs() + VALID_MS
    const content = `${groupId}.${deviceId}.${expiresAtMs}.${USER_ID.test(userId) ? userId : HEAD_OFFICE}`
    return {
      url: `/geofences/${groupId}/download?token=${content}.${this.#sign(content)}`,
      version: geofences.versionOf(groupId),
      expires_at: toIso(expiresAtMs),
    }
  }

  /** Reads a token. Throws `invalid_token` when it was not signed here: the client guesses. */
  read(token: string): GeofenceToken {
    const [, content = '', groupId, deviceId, expiresAtMs, userId = '', signature = ''] = TOKEN.exec(token) ?? []
    if (!hashesEqual(this.#sign(content), signature)) throw invalidToken('this token is not valid')
    return {
      groupId: Number(groupId),
      deviceId: Number(deviceId),
      expiresAtMs: Number(expiresAtMs),
      userId,
    }
  }

  /**
   * The device whose token this is, if it still opens the zones of `groupId`. Throws `invalid_token` when it has
   * expired, its device has left the group or its user may not see the device, `group_forbidden` when it is for another
   * group. A clock that is not trusted lets nothing expire: it may be off by years, and what counts most, the group, it
   * cannot touch.
   */
  require({ groupId, deviceId, expiresAtMs, userId }: GeofenceToken, askedGroupId: number): Device {
    const { fleet, clock, users } = this.#deps
    // asked in this order: reading the clock may be what makes it trusted
    const nowMs = clock.nowMs()
    if (clock.isTrusted && nowMs >= expiresAtMs) throw invalidToken('this token has expired')
    const device = fleet.all().find(({ row }) => row.deviceId === deviceId)
    if (device === undefined || device.row.groupId !== groupId)
      throw invalidToken('the device of this token is not in the group any more')
    const caller = users.callerOf(userId)
    const isSeen = caller !== undefined && canSee(caller, device.row.hardwareId)
    if (userId !== HEAD_OFFICE && !isSeen)
      throw invalidToken('the user who had this token sent may not see the device any more')
    if (groupId !== askedGroupId)
      throw new ForbiddenError('group_forbidden', `this token is not for group ${askedGroupId}`)
    return device
  }

  #sign(content: string): string {
    if (this.#secret === undefined) throw new Error('load comes before the first token')
    return createHmac('sha256', this.#secret).update(`geofences/${content}`).digest('base64url')
  }
}

function invalidToken(message: string): UnauthenticatedError {
  return new UnauthenticatedError('invalid_token', message)
}
