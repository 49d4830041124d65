import { useEffect, useMemo } from 'preact/hooks'
import { CourseReplay } from '#dashboard/live/replay/course-replay.ts'
import type { Playback, Span } from '#dashboard/live/replay/playback.ts'
import { replaySettingsOf } from '#dashboard/live/replay/replay-settings.ts'
import { ReplayZones } from '#dashboard/live/replay/replay-zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'
import { useOwnZones } from '../day/use-own-zones.ts'

/** The course as it was at the moment of the playback, which waits for what has still to come. */
export function useCourseReplay(span: Span, playback: Playback, zones: ZonesJson | null): CourseReplay {
  const { api, fleet, settings } = useDashboard()
  const site = settings.value
  const own = useOwnZones()
  const replay = useMemo(
    () => new CourseReplay({ api, onWait: (isWaiting) => playback.hold(isWaiting) }, span),
    [api, playback, span],
  )
  useEffect(() => {
    replay.rules = {
      zones: new ReplayZones(zones, own),
      settings: replaySettingsOf(site),
      groupOf: (hardwareId) => fleet.devices.get(hardwareId)?.group_id ?? null,
    }
  }, [replay, zones, own, site, fleet])
  useEffect(() => {
    const end = playback.follow((atMs) => replay.show(atMs))
    return () => {
      end()
      replay.stop()
    }
  }, [replay, playback])
  return replay
}
