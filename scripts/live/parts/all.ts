import type { Bottle, Part } from '../bottle.ts'
import { AlertDesk } from './alert-desk.ts'
import { Backups } from './backups.ts'
import { Certificates } from './certificate.ts'
import { CommandWatch } from './command-watch.ts'
import { DiskFaults } from './disk.ts'
import { Erasures } from './erasures.ts'
import { Fleet } from './fleet.ts'
import { Greenkeeper } from './greenkeeper.ts'
import { createHeadOffice } from './head-office.ts'
import { HostClock } from './host-clock.ts'
import { Keys } from './keys.ts'
import { Overrides } from './overrides.ts'
import { People } from './people.ts'
import { Process } from './process.ts'
import { Programs } from './programs.ts'
import { Receivers } from './receivers.ts'
import { Restarts } from './restarts.ts'
import { Retention } from './retention.ts'
import { Timers } from './timers.ts'

/** The parts of a course, in the order in which they are set up. */
export function createParts(bottle: Bottle): Part[] {
  return [
    // before others act
    new Restarts(bottle),
    new DiskFaults(bottle),
    new Certificates(bottle),
    new HostClock(bottle),
    new Backups(bottle),
    new Retention(bottle),
    new Keys(bottle),
    new Process(bottle),
    ...createHeadOffice(bottle),
    new Fleet(bottle),
    new Erasures(bottle),
    new Programs(bottle),
    new Receivers(bottle),
    new CommandWatch(bottle),
    new Timers(bottle),
    new People(bottle),
    new Overrides(bottle),
    new Greenkeeper(bottle),
    new AlertDesk(bottle),
  ]
}
