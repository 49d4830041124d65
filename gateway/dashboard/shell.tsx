import './shell.css'
import type { ComponentType } from 'preact'
import { SCREENS, type ScreenName, toHash } from '#dashboard/live/route.ts'
import { formatSpan, formatTime } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'

const LIVE_MAP = lazy(() => import('#dashboard/screens/map.tsx').then(({ MapScreen }) => MapScreen))

const COMPONENTS: Record<ScreenName, ComponentType> = {
  map: LIVE_MAP,
  fleet: lazy(() => import('#dashboard/screens/fleet.tsx').then(({ FleetScreen }) => FleetScreen)),
  evening: lazy(() => import('#dashboard/screens/evening.tsx').then(({ EveningScreen }) => EveningScreen)),
  alerts: lazy(() => import('#dashboard/screens/alerts.tsx').then(({ AlertsScreen }) => AlertsScreen)),
  more: lazy(() => import('#dashboard/screens/more.tsx').then(({ MoreScreen }) => MoreScreen)),
}

/** A page of More that is a map. */
const BARN = lazy(() => import('#dashboard/screens/barn.tsx').then(({ BarnScreen }) => BarnScreen))

/** What is around every screen: the rail, the banner of the line, the clock. */
export function Shell() {
  const { screen, rest } = useDashboard().router.route.value
  const Screen = screen === 'more' && rest === 'barn' ? BARN : COMPONENTS[screen]
  return (
    <div class="shell">
      <Rail current={screen} />
      <div class="banner">
        <LineBanner />
      </div>
      <main class="screen">
        <Screen />
      </main>
    </div>
  )
}

function Rail({ current }: { current: ScreenName }) {
  const { fleet, clock, line, second, site } = useDashboard()
  const texts = shellTexts()
  const open =
    fleet.version.value >= 0
      ? [...fleet.alerts.values()].filter((alert) => alert.acknowledged_at === null)
      : []
  const isLive = line.state.value.kind === 'live'
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  return (
    <nav class="rail" aria-label={texts.screens}>
      {SCREENS.map((name) => (
        <a
          key={name}
          href={toHash(name)}
          aria-current={name === current ? 'page' : undefined}
          aria-label={texts[name]}
        >
          <Icon name={name} />
          <span>{texts[name]}</span>
          {name === 'alerts' && open.length > 0 && <span class="badge">{open.length}</span>}
        </a>
      ))}
      <p class="rail-foot">
        {nowMs > 0 && formatTime(nowMs, site.value.time_zone)}
        <br />
        <span class="rail-line">{isLive ? `● ${texts.live}` : '○'}</span>
      </p>
    </nav>
  )
}

/** One bar while the line is gone; announced when it appears. */
function LineBanner() {
  const { line, clock, second } = useDashboard()
  const state = line.state.value
  const isGone = second.value >= 0 && (state.kind === 'lost' || state.kind === 'connecting')
  return (
    <div role="status" aria-live="polite">
      {isGone && state.kind === 'lost' && (
        <p class="line-banner">{shellTexts().noContact(formatSpan(clock.nowMs() - state.sinceMs))}</p>
      )}
    </div>
  )
}
