import { partiesOf } from '#hub/store/site-parties.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { textSearch } from '#shared/device-filter.ts'
import { inOrder, paginationOf } from '#shared/http/api-env.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { partyListSchema, partyQuerySchema } from '#shared/wire/parties/parties.ts'
import { type Party, stateOf, toPartyJson } from '#shared/wire/parties/party-json.ts'
import { siteList } from './site-noun.ts'

/** Parties of a site. Names of golfers do not leave the course. */
export const SITE_PARTIES = siteList({
  path: '/sites/{site}/parties',
  summary: 'List the parties of a site',
  description: 'As its gateway has them, without players, drivers and notes.',
  query: partyQuerySchema,
  schema: partyListSchema,
  answer: 'Parties, by tee_time.',
  read: async ({ date, from = date, to = date, state, cart, search = '', ...page }, { sql, site, nowMs }) => {
    const { timeZone, minutesPerHole } = await siteSettingsOf(sql, site)
    const zone = new TimeZone(timeZone)
    const dayOf = (day: string | number) => (typeof day === 'number' ? zone.local(day).date : day)
    const days = {
      ...(from === undefined ? {} : { from: dayOf(from) }),
      ...(to === undefined ? {} : { to: dayOf(to) }),
    }
    const isFound = textSearch(search)
    const isWanted = (party: Party) =>
      (state === undefined || stateOf(party) === state) &&
      (cart === undefined || party.carts.some((one) => one.cart === cart)) &&
      (search.trim() === '' || [party.externalId ?? '', ...party.carts.map((one) => one.cart)].some(isFound))
    const found = inOrder((await partiesOf(sql, site, days)).filter(isWanted), page.order)
    const parties = found
      .slice(page.offset, page.offset + page.limit)
      .map((party) => toPartyJson(party, { minutesPerHole, nowMs, sees: () => true }))
    return { parties, pagination: paginationOf(page, parties) }
  },
})
