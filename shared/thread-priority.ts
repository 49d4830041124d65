import { platform, setPriority } from 'node:os'

/**
 * Lets the other threads of the machine go before this one. Only on Linux, where it counts for the thread that asks. A sandbox
 * may refuse it: the thread then works beside the others, as it must work.
 */
export function letOthersFirst(niceness: number): void {
  if (platform() !== 'linux') return
  try {
    // 0 is this thread, not the process
    setPriority(0, niceness)
  } catch {
    // the rests between its jobs have to do
  }
}
