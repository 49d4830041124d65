import { hash, randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'
import { isOneLine, ONE_LINE_PATTERN } from './plain-text.ts'

const SHORT_ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const SHORT_ID_LENGTH = 8

/** 1 to 64 characters; a colon may be inside, as in a MAC address, and not at an end. */
export const HARDWARE_ID = /^(?!:)[A-Za-z0-9._:-]{1,64}(?<!:)$/
/** `active` is an operation of trips; `.` and `..` are folders to whoever normalises a URL. */
const RESERVED_IDS = new Set(['active', '.', '..'])

/** The highest id of a group, and of the geofences that share the numbers with groups. */
export const MAX_GROUP_ID = Number.MAX_SAFE_INTEGER

/** Whether a text can be a hardware id: it is an MQTT user name, a topic level and a part of a URL. */
export function isHardwareId(text: string): boolean {
  return HARDWARE_ID.test(text) && !RESERVED_IDS.has(text)
}

export const CART_MAX = 16
/** The site as a whole has this place where alerts of carts have the cart. */
const RESERVED_CART = 'site'
/** The same as a pattern of JSON Schema, length aside. */
export const CART_PATTERN = ONE_LINE_PATTERN.replace('^', `^(?!\\s*${RESERVED_CART}\\s*$)`)

/** Whether a trimmed text can be the name of a cart: 1 to 16 characters, on one line, not `site`. */
export function isCartName(text: string): boolean {
  const length = [...text].length
  if (length < 1 || length > CART_MAX || text === RESERVED_CART) return false
  // it is a part of URLs and topics, for which half a surrogate pair cannot be encoded
  return isOneLine(text)
}

export function newShortId(): string {
  return Array.from({ length: SHORT_ID_LENGTH }, () => SHORT_ID_ALPHABET[randomInt(SHORT_ID_ALPHABET.length)]).join('')
}

/** An API key: 32 random bytes, shown once, kept only as its hash. */
export function newApiKey(): string {
  return `flt_${randomBytes(32).toString('base64url')}`
}

/** The key of a user of the head office: 32 random bytes, shown once, kept only as its hash. */
export function newHubKey(): string {
  return `cbh_${randomBytes(32).toString('base64url')}`
}

/**
 * A device's MQTT password: 24 random bytes, shown once, kept only as its hash. Behind `-P` none looks like an option.
 */
export function newMqttPassword(): string {
  const password = randomBytes(24).toString('base64url')
  return password.startsWith('-') ? newMqttPassword() : password
}

export function newUuid(): string {
  return randomUUID()
}

/**
 * The stored form of a secret. A plain SHA-256 is enough because every secret here has at least 24 characters
 * and nearly all are random bytes: there is no dictionary to slow down, and thousands log in at once after a power cut.
 */
export function hashSecret(secret: string | Buffer): string {
  return hash('sha256', secret, 'hex')
}

export function hashesEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

/**
 * The id of a device's entering or leaving a zone. Derived from what makes it one event, so that it is the same
 * whenever it is worked out again.
 */
export function geofenceEventId(hardwareId: string, zoneId: string, kind: string, atMs: number): string {
  return hash('sha256', JSON.stringify([hardwareId, zoneId, kind, atMs]), 'hex').slice(0, 32)
}

export type TelemetryStream = 'gps' | 'battery'

/** 72 bits in base64url. */
const PREFIX_LENGTH = 12
const AT_DIGITS = 9

/** The part of a record id that is the same for all records of a device's stream; see `recordId`. */
export function recordIdPrefix(hardwareId: string, stream: TelemetryStream): string {
  return hash('sha256', `${stream}/${hardwareId}`, 'base64url').slice(0, PREFIX_LENGTH)
}

/**
 * The id of a telemetry record. Derived, never stored: (device, stream, time) is unique, so the same record has the
 * same id for ever, here and at the head office. 72 bits of the device and stream, then the time in base 36.
 */
export function recordId(prefix: string, atMs: number): string {
  return prefix + atMs.toString(36).padStart(AT_DIGITS, '0')
}
