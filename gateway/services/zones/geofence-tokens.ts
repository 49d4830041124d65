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
/** Format: group, device number, expiry in ms since 1970, user, and the HMAC-SHA-256 of these four. */
const TOKEN = /^((\d{1,16})\.(\d{1,15})\.(\d{1,15})\.(hub|[0-9a-f-]{36}))\.([A-Za-z0-9_-]{43})$/
const USER_ID = /^[0-9a-f-]{36}$/
/** Stands for the user if the hub made the request. */
const HEAD_OFFICE = 'hub'

/** Content of a token with a valid signature. */
export interface GeofenceToken {
  groupId: number
  deviceId: number
  expiresAtMs: number
  /** User who requested the download, or `hub`. */
  userId: string
}

/**
 * Tokens with which a device downloads the zones of its group: valid for a day, any number of times, and invalid once
 * the device has left the group or was removed, or the user who requested the download may no longer see it. They are
 * signed, not stored; a client with a token can read zones and do nothing else.
 */
export class GeofenceTokens {
  readonly #deps: GeofenceTokensDeps
  #secret: Uint8Array | undefined

  constructor(deps: GeofenceTokensDeps) {
    this.#deps = deps
  }

  /** Reads the secret; creates it at the first start. */
  async load(): Promise<void> {
    const made = { name: SECRET_NAME, value: new Uint8Array(randomBytes(SECRET_BYTES)) }
    this.#secret = await this.#deps.store.write('keepSecret', made)
  }

  /** Creates a token for a device and its group, on behalf of a caller. Throws `no_group` if the device is in none. */
  tokenFor({ row }: Device, { userId }: Caller): GeofenceFetchJson {
    const { clock, geofences } = this.#deps
    const { groupId, deviceId, hardwareId } = row
    if (groupId === null)
      throw new InvalidRequestError('no_group', `device ${hardwareId} has no zones; assign it to a group first`)
    const expiresAtMs = clock.nowMs() + VALID_MS
    const content = `${groupId}.${deviceId}.${expiresAtMs}.${USER_ID.test(userId) ? userId : HEAD_OFFICE}`
    return {
      url: `/geofences/${groupId}/download?token=${content}.${this.#sign(content)}`,
      version: geofences.versionOf(groupId),
      expires_at: toIso(expiresAtMs),
    }
  }

  /** Reads a token. Throws `invalid_token` if the signature is wrong, which counts as guessing. */
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
   * Returns the device of a token that is valid for the zones of `askedGroupId`. Throws `invalid_token` if it has
   * expired, its device has left the group or its user may not see the device, `group_forbidden` if it is for another
   * group. While the clock is not trusted no token expires: the clock may be off by years, and the check of the group,
   * which matters most, does not depend on it.
   */
  require({ groupId, deviceId, expiresAtMs, userId }: GeofenceToken, askedGroupId: number): Device {
    const { fleet, clock, users } = this.#deps
    // in this order, because reading the clock may make it trusted
    const nowMs = clock.nowMs()
    if (clock.isTrusted && nowMs >= expiresAtMs) throw invalidToken('this token has expired')
    const device = fleet.all().find(({ row }) => row.deviceId === deviceId)
    if (device === undefined || device.row.groupId !== groupId)
      throw invalidToken('the device of this token has left the group')
    const caller = users.callerOf(userId)
    const isSeen = caller !== undefined && canSee(caller, device.row.hardwareId)
    if (userId !== HEAD_OFFICE && !isSeen)
      throw invalidToken('the user who requested this token may no longer see the device')
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
