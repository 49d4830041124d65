import { DEFAULT_SITE_SETTINGS, tripDefaultsOf } from '#shared/site/settings.ts'
import type { SiteSettingsJson } from '#shared/wire/site.ts'
import type { ReplaySettings } from './replayed-cart.ts'

const PACK_UNKNOWN = { emptyV: null, fullV: null, lowV: null }

/** Returns the settings for evaluating carts in a replay: the site's present ones, or the defaults if unknown. */
export function replaySettingsOf(site: SiteSettingsJson | null): ReplaySettings {
  const defaults = DEFAULT_SITE_SETTINGS
  return {
    silentAfterS: site?.silent_after_s ?? defaults.silentAfterS,
    silentOnCourseAfterS: site?.silent_on_course_after_s ?? defaults.silentOnCourseAfterS,
    restAfterS: site?.rest_after_s ?? defaults.restAfterS,
    movingKmh: site?.trips.speedThreshold ?? tripDefaultsOf(defaults).speedThreshold,
    pack: PACK_UNKNOWN,
  }
}
