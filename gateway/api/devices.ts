import type { OpenAPIHono } from '@hono/zod-openapi'
import { canSee } from '#domain/access.ts'
import type { UnverifiedTimes } from '#domain/latest-state.ts'
import { payloadOf, type RecentMessage } from '#domain/recent-messages.ts'
import type { Device } from '#services/fleet.ts'
import { attributeFilters, deviceSearch, isBatteryBelow, matchesAttributes } from '#shared/device-filter.ts'
import { inOrder } from '#shared/http/api-env.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { RememberedQueries } from '#shared/http/remembered-queries.ts'
import { jsonBody } from '#shared/http/request-guards.ts'
import { answers, body, json, jsonText, problems } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import { isoOrNull, toIso } from '#shared/time.ts'
import {
  type DeviceListQuery,
  deletedDeviceSchema,
  deviceDetailsSchema,
  deviceListQuerySchema,
  deviceListSchema,
  devicePatchSchema,
  devicePutSchema,
  deviceSchema,
  newDeviceSchema,
  recentMessagesQuerySchema,
  recentMessagesSchema,
  registeredDeviceSchema,
  rotatedPasswordSchema,
} from '#shared/wire/devices.ts'
import { DOWNLINKS, deviceTopic, UPLINKS } from '#shared/wire/mqtt.ts'
import { deviceIdParams } from '#shared/wire/schema/params.ts'
import { type ApiEnv, adminOnly, createApi, requireAdmin } from './api-env.ts'
import type { DevicesDeps, RecordsDeps } from './deps.ts'
import { toDeviceConfigJson } from './json/device-config-json.ts'
import { toDeviceJson } from './json/device-json.ts'
import { DeviceTexts } from './json/device-texts.ts'

interface Page {
  devices: readonly Buffer[]
  text: Buffer<ArrayBuffer>
}

/** Lists of devices as JSON, joined again only after one of the devices or the selection has changed. */
class DeviceListTexts {
  /** JSON of each device with a leading comma. */
  readonly #texts = new DeviceTexts((device) => Buffer.from(`,${JSON.stringify(toDeviceJson(device))}`))
  /** Last response to each remembered query. */
  readonly #pages = new WeakMap<DeviceListQuery, Page>()

  /** Returns the response to `query`; `devices` are its page. */
  of(query: DeviceListQuery, devices: readonly Device[]): Buffer<ArrayBuffer> {
    const parts = devices.map((device) => this.#texts.of(device))
    const last = this.#pages.get(query)
    if (last !== undefined && isSame(last.devices, parts)) return last.text
    const { limit, offset } = query
    const text = join(parts, { limit, offset, returned: parts.length })
    this.#pages.set(query, { devices: parts, text })
    return text
  }
}

function isSame(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((part, i) => part === other[i])
}

function join(devices: readonly Buffer[], pagination: object): Buffer<ArrayBuffer> {
  const [first = Buffer.of(), ...others] = devices
  return Buffer.concat([
    Buffer.from('{"devices":['),
    first.subarray(1),
    ...others,
    Buffer.from(`],"pagination":${JSON.stringify(pagination)}}`),
  ])
}

/** `/devices`: the registered devices and the latest state of each. */
export function createDevicesApi({
  fleet,
  devices,
  deviceConfigs,
  presence,
  store,
}: DevicesDeps & RecordsDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const queries = new RememberedQueries(deviceListQuerySchema)
  const texts = new DeviceListTexts()

  const list = listRoute('/devices', 'List devices', {
    description: 'The devices in the scope of the caller with their latest state, by hardware_id.',
    request: { query: deviceListQuerySchema },
    responses: answers(deviceListSchema, 'Devices in scope, by hardware_id.', 400),
  })
  // tablets request this continuously: documented like the other routes, but its query is validated once and remembered
  api.openAPIRegistry.registerPath(list)
  api.get(list.getRoutingPath(), list.asTable, (c) => {
    const query = queries.of(c)
    const { caller } = c.get('user')
    const isWanted = deviceFilter(query)
    const isShown = (device: Device) => canSee(caller, device.row.hardwareId) && isWanted(device)
    return jsonText(c, texts.of(query, pageOf(inOrder(fleet.all(), query.order), isShown, query)))
  })

  api.openapi(
    route.post('/devices', 'Register a device', {
      description: 'Registers the device and issues its MQTT password, which is shown only here. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { body: body(newDeviceSchema) },
      responses: {
        201: json(registeredDeviceSchema, 'The device and its login; the password is shown only here.'),
        ...problems(400, 403, 409, 413, 415),
      },
    }),
    async (c) => {
      const { hardware_id, device_type, name, cart, group_id } = c.req.valid('json')
      const fields = {
        hardwareId: hardware_id,
        deviceType: device_type,
        name: name ?? null,
        cart: cart ?? null,
        groupId: group_id ?? null,
      }
      const { device, password } = await devices.register(fields)
      c.header('location', `/devices/${hardware_id}`)
      return c.json({ device: toDeviceJson(device), mqtt: credentials(device, password) }, 201)
    },
  )

  api.openapi(
    route.get('/devices/{id}', 'Get a device', {
      request: { params: deviceIdParams },
      responses: answers(deviceSchema, 'The device.', 403, 404),
    }),
    (c) => c.json(toDeviceJson(devices.requireVisible(c.var.user.caller, c.req.valid('param').id)), 200),
  )

  api.openapi(
    route.get('/devices/{id}/details', 'Get a device with its counts and connection', {
      description:
        'Data stored for the device: number of records, start, dropped readings, and the connection. ' + 'For admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: answers(deviceDetailsSchema, 'The device with counts, drops and connection.', 403, 404),
    }),
    (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const { gps, battery } = store.read.deviceCounts(device.row.deviceId)
      const connection = presence.connectionOf(device)
      const zones = device.reported.state.applied.sz
      const details = {
        ...toDeviceJson(device),
        telemetry: { gps: toStreamJson(gps), battery: toStreamJson(battery) },
        dropped: device.reported.state.dropped,
        unverified_times: toUnverifiedJson(device.reported.state.unverified),
        clock_off_s: device.clock.offS,
        status: device.reported.state.status,
        config: toDeviceConfigJson(deviceConfigs, device),
        geofences: {
          applied_version: zones?.version ?? null,
          applied_at: isoOrNull(zones?.atMs ?? null),
        },
        mqtt: {
          connected_since: isoOrNull(connection?.sinceMs ?? null),
          address: connection?.address ?? null,
          taken_over: device.takenOver,
        },
      }
      return c.json(details, 200)
    },
  )

  api.openapi(
    listRoute('/devices/{id}/messages', 'List the last messages of a device', {
      description:
        'The last 20 raw messages since the start of the gateway, with the reason for a rejected one; of more ' +
        'than 20 in a second the first 20. They may hold keypad codes and tags. For admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams, query: recentMessagesQuerySchema },
      responses: answers(recentMessagesSchema, 'The messages, newest first by default.', 400, 403, 404),
    }),
    (c) => {
      const { recent } = fleet.require(c.req.valid('param').id)
      const messages = inOrder(recent.all().toReversed(), c.req.valid('query').order).map(toRecentJson)
      return c.json({ messages }, 200)
    },
  )

  api.openapi(
    route.patch('/devices/{id}', 'Rename a device', {
      description: 'Every user with the device in scope may change its name; only admins may set its cart.',
      middleware: [jsonBody],
      request: { params: deviceIdParams, body: body(devicePatchSchema) },
      responses: answers(deviceSchema, 'The device as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const { name, cart } = c.req.valid('json')
      if (cart !== undefined) requireAdmin(c.var.user)
      const device = devices.requireVisible(c.var.user.caller, c.req.valid('param').id)
      return c.json(toDeviceJson(await devices.change(device, { name, cart })), 200)
    },
  )

  api.openapi(
    route.put('/devices/{id}', 'Replace name, type and group of a device', {
      description:
        'All three are required; name and group_id may be null. The cart stays unless it is named. PATCH changes ' +
        'name and cart alone. For admins.',
      middleware: [adminOnly, jsonBody],
      request: { params: deviceIdParams, body: body(devicePutSchema) },
      responses: answers(deviceSchema, 'The device as it is now.', 400, 403, 404, 413, 415),
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const { name, cart, device_type: deviceType, group_id: groupId } = c.req.valid('json')
      return c.json(toDeviceJson(await devices.change(device, { name, cart, deviceType, groupId })), 200)
    },
  )

  api.openapi(
    route.delete('/devices/{id}', 'Delete a device', {
      description:
        'Its MQTT connection is closed immediately and its password is revoked; its telemetry is deleted in the ' +
        'background. Lock events stay. The enrolment key does not bring it back: only POST /devices does. For ' +
        'admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: answers(deletedDeviceSchema, 'The device is deleted; its telemetry is being deleted.', 403, 404),
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      await devices.delete(device)
      return c.json({ success: true as const, deleted: device.row.hardwareId }, 200)
    },
  )

  api.openapi(
    route.post('/devices/{id}/rotate-mqtt-password', 'Issue a new MQTT password', {
      description:
        'Revokes the old password immediately, closes an open connection and ends the MQTT session. For admins.',
      middleware: [adminOnly],
      request: { params: deviceIdParams },
      responses: answers(rotatedPasswordSchema, 'The new password, shown only here.', 403, 404),
    }),
    async (c) => {
      const device = fleet.require(c.req.valid('param').id)
      const password = await devices.rotatePassword(device)
      return c.json({ success: true as const, mqtt: credentials(device, password) }, 200)
    },
  )

  return api
}

function toRecentJson(message: RecentMessage) {
  const { atMs, topic, bytes, result, drops, clockOffS } = message
  const payload = payloadOf(message)
  const shown =
    'text' in payload
      ? { payload: payload.text, encoding: 'text' as const }
      : { payload: payload.base64, encoding: 'base64' as const }
  return { at: toIso(atMs), topic, ...shown, bytes, result, drops: [...drops], clock_off_s: clockOffS }
}

/** Returns a page of the matching items; stops as soon as the page is full. */
function pageOf<Item>(
  items: readonly Item[],
  isWanted: (item: Item) => boolean,
  { limit, offset }: { limit: number; offset: number },
): Item[] {
  const page: Item[] = []
  let left = offset
  for (const item of items) {
    if (!isWanted(item) || left-- > 0) continue
    page.push(item)
    if (page.length === limit) break
  }
  return page
}

function credentials({ row }: Device, password: string) {
  const { hardwareId } = row
  return {
    username: hardwareId,
    password,
    client_id: hardwareId,
    topics: {
      publish: UPLINKS.map((level) => deviceTopic(hardwareId, level)),
      // the device already has its password, so none is sent on `key`
      subscribe: DOWNLINKS.filter((level) => level !== 'key').map((level) => deviceTopic(hardwareId, level)),
    },
  }
}

function toUnverifiedJson(times: UnverifiedTimes | undefined) {
  return times === undefined ? null : { count: times.count, from: toIso(times.fromMs), to: toIso(times.toMs) }
}

function toStreamJson({ count, firstMs, lastMs }: { count: number; firstMs: number | null; lastMs: number | null }) {
  return { count, first_at: isoOrNull(firstMs), last_at: isoOrNull(lastMs) }
}

/** Builds the filter of a device query, independent of the caller. Throws `invalid_attribute_name`. */
function deviceFilter(query: DeviceListQuery): (device: Device) => boolean {
  const { hardware_ids, device_type, cart, group_id, battery_below, search = '', ...rest } = query
  const {
    is_online,
    enrolled_with_shared_key,
    order: _order,
    format: _format,
    limit: _limit,
    offset: _offset,
    ...others
  } = rest
  const wanted = hardware_ids === undefined ? undefined : new Set(hardware_ids)
  const isFound = deviceSearch(search)
  const attributes = attributeFilters(others)
  return ({ row, reported, isOnline }) =>
    (wanted?.has(row.hardwareId) ?? true) &&
    isOrAny(device_type, row.deviceType) &&
    isOrAny(cart, row.cart) &&
    isOrAny(group_id, row.groupId) &&
    isOrAny(is_online, String(isOnline)) &&
    isOrAny(enrolled_with_shared_key, String(row.isOnSharedKey)) &&
    (battery_below === undefined || isBatteryBelow(reported.state.values, battery_below)) &&
    isFound(row) &&
    matchesAttributes(reported.state.values, attributes)
}

/** True if no value is requested or the value matches. */
function isOrAny<Value>(wanted: Value | undefined, value: Value | null): boolean {
  return wanted === undefined || value === wanted
}
