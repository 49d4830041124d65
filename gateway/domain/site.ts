/** What a course is called and how its people read times and lengths, until settings of the site say otherwise. */
export const SITE_DEFAULTS = { name: '', time_zone: 'UTC', units: 'metric', language: 'en' } as const
