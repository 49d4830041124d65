import type { OpenAPIHono } from '@hono/zod-openapi'
import { requireDevice, requireSite, visibleSites } from '#hub/access.ts'
import { type DeviceSearch, searchDevices } from '#hub/sites/device-search.ts'
import type { Sql } from '#hub/store/database/database.ts'
import { attributeFilters } from '#shared/device-filter.ts'
import { listRoute } from '#shared/http/list-route.ts'
import { answers, jsonText } from '#shared/http/responses.ts'
import { route } from '#shared/http/route.ts'
import {
  type DeviceListQuery,
  deviceListSchema,
  deviceSchema,
  siteDeviceListQuerySchema,
} from '#shared/wire/devices.ts'
import { hubDeviceListQuerySchema, hubDeviceListSchema, siteDeviceParams, siteParams } from '#shared/wire/sites.ts'
import { createHubPart, type HubEnv } from './env.ts'

/** Devices of sites with their latest states, as reported by their gateways. */
export function createSiteDevicesApi(sql: Sql): OpenAPIHono<HubEnv> {
  const api = createHubPart()

  api.openapi(
    listRoute('/devices', 'List devices of all sites', {
      operationId: 'listDevices',
      description:
        'The devices of all sites in the scope of the caller, with their latest states, for example for a map.',
      request: { query: hubDeviceListQuerySchema },
      responses: answers(hubDeviceListSchema, 'Devices in scope, by site_id, then hardware_id.', 400),
    }),
    async (c) => {
      const { site_ids: wanted, ...query } = c.req.valid('query')
      const visible = visibleSites(c.var.user)
      // a requested site outside the scope yields no devices, like a device outside the scope
      const siteIds =
        wanted === undefined ? visible : wanted.filter((site) => visible === null || visible.includes(site))
      const rows = await searchDevices(sql, searchOf(query, siteIds))
      // appended to the fields from the gateway: of two fields with one name the last counts
      const texts = rows.map(({ site_id, body }) => `${shown(body).slice(0, -1)},"site_id":${JSON.stringify(site_id)}}`)
      return jsonText(c, listText(texts, query))
    },
  )

  api.openapi(
    listRoute('/sites/{site}/devices', 'List the devices of a site', {
      description: 'The same answer as GET /devices of the gateway: the latest states, by hardware_id.',
      request: { params: siteParams, query: siteDeviceListQuerySchema },
      responses: answers(deviceListSchema, 'Devices, by hardware_id.', 400, 403, 404),
    }),
    async (c) => {
      const { site } = c.req.valid('param')
      const query = c.req.valid('query')
      const search = searchOf(query, [site])
      await requireSite(sql, c.var.user, site)
      const rows = await searchDevices(sql, search)
      return jsonText(
        c,
        listText(
          rows.map(({ body }) => shown(body)),
          query,
        ),
      )
    },
  )

  api.openapi(
    route.get('/sites/{site}/devices/{id}', 'Get a device', {
      request: { params: siteDeviceParams },
      responses: answers(deviceSchema, 'The device as its gateway last reported it.', 403, 404),
    }),
    async (c) => {
      const { site, id } = c.req.valid('param')
      return jsonText(c, shown((await requireDevice(sql, c.var.user, site, id)).text))
    },
  )

  return api
}

/** Throws the error for an invalid attribute name. */
function searchOf(query: DeviceListQuery, siteIds: readonly string[] | null): DeviceSearch {
  const { hardware_ids: hardwareIds, battery_below: batteryBelow, search = '', ...rest } = query
  const { device_type, cart, group_id, is_online, order, format: _, limit, offset, ...others } = rest
  const fields = { device_type, cart, group_id, is_online }
  const attributes = attributeFilters(others)
  return { siteIds, hardwareIds, fields, batteryBelow, search, attributes, order, limit, offset }
}

/** Returns a device as its gateway reported it, without the `name: null` that gateways send for an unnamed one. */
function shown(body: string): string {
  if (!/"name":(null|"")/.test(body)) return body
  const { name, ...rest }: Record<string, unknown> = JSON.parse(body)
  return name ? body : JSON.stringify(rest)
}

/** The bodies are stored JSON: serialised once, by the gateway. */
function listText(devices: readonly string[], { limit, offset }: { limit: number; offset: number }): string {
  const pagination = JSON.stringify({ limit, offset, returned: devices.length })
  return `{"devices":[${devices.join(',')}],"pagination":${pagination}}`
}
