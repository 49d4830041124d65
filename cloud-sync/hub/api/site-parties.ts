import { partiesOf } from '#hub/store/site-parties.ts'
import { siteSettingsOf } from '#hub/store/site-settings.ts'
import { inOrder, paginationOf } from '#shared/http/api-env.ts'
import { TimeZone } from '#shared/site/time-zone.ts'
import { partyListSchema, partyQuerySchema } from '#shared/wire/parties/parties.ts'
import { partyDayOf, partyTest, toPartyJson } from '#shared/wire/parties/party-json.ts'
import { siteList } from './site-noun.ts'

/** Parties of a site. Names of golfers do not leave the course. */
export const SITE_PARTIES = siteList({
  path: '/sites/{site}/parties',
  summary: 'List the parties of a site',
  description: 'As its gateway has them, without players, drivers and notes.',
  query: partyQuerySchema,
  schema: partyListSchema,
  answer: 'Parties, by tee_time.',
  read: async ({ date, from = date, to = date, ...query }, { sql, site, nowMs }) => {
    const { timeZone, minutesPerHole } = await siteSettingsOf(sql, site)
    const zone = new TimeZone(timeZone)
    const days = { from: partyDayOf(from, zone), to: partyDayOf(to, zone) }
    const found = inOrder((await partiesOf(sql, site, days)).filter(partyTest(query)), query.order)
    const parties = found
      .slice(query.offset, query.offset + query.limit)
      .map((party) => toPartyJson(party, { minutesPerHole, nowMs, sees: () => true }))
    return { parties, pagination: paginationOf(query, parties) }
  },
})
